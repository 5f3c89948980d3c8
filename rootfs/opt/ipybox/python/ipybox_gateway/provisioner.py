"""Kernels that clients of the gateway start: processes of the server, not of the gateway."""

from __future__ import annotations

import asyncio
import signal
from typing import Any, cast

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase

from ipybox_gateway import supervisor

# For handlers at exit and open files. ipykernel itself waits up to 29 s for children of the kernel,
# and one that was stopped or holds the GIL never answers.
END_SECONDS = 1.0


def own_variables(env: dict[str, str] | None) -> dict[str, str]:
    """What the server takes of an environment; the rest is the same for all kernels."""
    return {name: value for name, value in (env or {}).items() if name.startswith("KERNEL_")}


class Provisioner(KernelProvisionerBase):
    """One kernel, through all of its restarts."""

    running = False
    status: int | None = None

    @property
    def has_process(self) -> bool:
        """Whether a kernel was launched and is not known to have ended."""
        return self.running

    async def poll(self) -> int | None:
        """None while it runs, else its status."""
        if self.running:
            self._take_status(await supervisor.call("poll", id=self.kernel_id))
        return None if self.running else self.status or 0

    async def wait(self) -> int | None:
        """Its status, once it has ended."""
        if self.running:
            self._take_status(await supervisor.call("wait", id=self.kernel_id))
        return self.status

    async def send_signal(self, signum: int) -> None:
        """Interrupt or kill it; there are no others."""
        await supervisor.call("signal", id=self.kernel_id, sig=int(signum))

    async def shutdown_requested(self, restart: bool = False) -> None:
        """See it end, now that it was asked to: the caller would only look every 100 ms, and not
        give up for 2.5 s."""
        try:
            await asyncio.wait_for(self.wait(), END_SECONDS)
        except TimeoutError:
            await self.kill()

    async def kill(self, restart: bool = False) -> None:
        """End it now."""
        await self.send_signal(signal.SIGKILL)

    async def terminate(self, restart: bool = False) -> None:
        """End it."""
        await self.send_signal(signal.SIGTERM)

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """The server knows the command; callers want one."""
        kwargs = await super().pre_launch(**kwargs)
        kwargs.setdefault("cmd", ["ipybox"])
        return kwargs

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Start one, and return how to connect to it."""
        answer = await supervisor.call(
            "launch",
            id=self.kernel_id,
            env=own_variables(kwargs.get("env")),
            cwd=str(kwargs.get("cwd") or ""),
        )
        self.running = True
        self.status = None
        info = supervisor.reachable(answer["conn"])
        info["key"] = info["key"].encode()
        self.connection_info = cast(KernelConnectionInfo, info)
        return self.connection_info

    async def cleanup(self, restart: bool = False) -> None:
        """Let the server forget one that is not started again."""
        if not restart:
            await supervisor.call("forget", id=self.kernel_id)

    def _take_status(self, answer: dict[str, Any]) -> None:
        self.status = answer["rc"]
        self.running = self.status is None
