"""All kernels of the server, whoever started them.

Those that this gateway started are its own, as ever. The others - the kernel of the MCP session,
and those that a gateway before this one started - are attached: what is to be done to them is
asked of the server. The kernel behind an id may become another one, through a restart or a reset;
its clients then stay connected, and are told that it restarted.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Any

import zmq
import zmq.asyncio
from jupyter_client._version import protocol_version
from jupyter_client.connect import port_names
from jupyter_client.manager import KernelManager
from jupyter_server._tz import utcnow
from kernel_gateway.services.kernels.manager import (
    KernelGatewayIOLoopKernelManager,
    SeedingMappingKernelManager,
)
from tornado import web
from traitlets import default

from ipybox_gateway import supervisor
from ipybox_gateway.connection import Connection

MAX_KERNELS = "IPYBOX_GATEWAY_MAX_KERNELS"
RETRY_SECONDS = 1.0
IOPUB_QUEUE = 16  # messages that ZeroMQ holds for a reader here; the rest waits in the kernel


def pending(method: Any) -> Callable[..., Any]:
    """A method of jupyter_client's during which the kernel is "pending". Theirs then sleeps for
    10 ms, for its tests; a kernel that is used once would wait for that twice."""
    plain = method.__wrapped__

    async def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self._attempted_start or not self._ready:
            self._ready = asyncio.Future()
        try:
            out = await plain(self, *args, **kwargs)
        except Exception as error:
            self._ready.set_exception(error)
            self.log.exception(self._ready.exception())
            raise
        if self.owns_kernel:
            self._ready.set_result(None)
        return out

    return wrapper


class KernelOfServer(KernelGatewayIOLoopKernelManager):  # type: ignore[misc]
    """One kernel. It is never being ended while it is being restarted, as after a crash."""

    _restart: asyncio.Task[None] | None = None
    _ending = False
    _password = b""  # which the kernel's sockets want to hear

    _async_start_kernel = start_kernel = pending(KernelManager._async_start_kernel)
    _async_shutdown_kernel = shutdown_kernel = pending(KernelManager._async_shutdown_kernel)

    def load_connection_info(self, info: Any) -> None:
        """As ever, and what to say to the kernel's sockets."""
        super().load_connection_info(info)
        self._password = info.get("ipybox_password", "").encode()

    def _say_in(self, context: zmq.Context[Any]) -> None:
        """Have sockets that are made from now on say the password when they connect."""
        if self._password:
            context.setsockopt(zmq.PLAIN_USERNAME, b"ipybox")
            context.setsockopt(zmq.PLAIN_PASSWORD, self._password)

    def _create_connected_socket(self, *args: Any, **kwargs: Any) -> Any:
        self._say_in(self.context)  # which all kernels' managers have together
        try:
            return super()._create_connected_socket(*args, **kwargs)
        finally:
            self.context.sockopts.clear()

    def client(self, **kwargs: Any) -> Any:
        """As ever; it makes its sockets itself."""
        context = zmq.asyncio.Context(shadow=self.context)
        self._say_in(context)
        return super().client(**{"context": context, **kwargs})

    def connect_iopub(self, *args: Any, **kwargs: Any) -> Any:
        """A stream of the kernel's output, with a short queue."""
        stream = super().connect_iopub(*args, **kwargs)
        stream.setsockopt(zmq.RCVHWM, IOPUB_QUEUE)
        return stream

    def know_protocol(self) -> None:
        """Have no connection ask for what all kernels here speak: it would open a channel of
        its own for that, and the client would wait."""
        self._kernel_info_future: asyncio.Future[dict[str, str]] = asyncio.Future()
        self._kernel_info_future.set_result({"protocol_version": protocol_version})

    def write_connection_file(self, **kwargs: Any) -> None:
        """Write none: its key would be that of every process with our uid."""

    async def restart_kernel(self, *args: Any, **kwargs: Any) -> None:
        """Restart it, after a restart that has begun before, and never once it is to end."""
        await self._settled()
        if not self._ending:
            restart = super().restart_kernel(*args, **kwargs)
            self._restart = asyncio.ensure_future(restart)
            await self._restart

    async def begin_to_end(self) -> None:
        """To be waited for before it is ended for good."""
        self._ending = True
        await self._settled()

    async def _settled(self) -> None:
        while self._restart is not None and not self._restart.done():
            await asyncio.wait([self._restart])


class KernelsOfServer(SeedingMappingKernelManager):  # type: ignore[misc]
    """The gateway's kernels, by their ids."""

    _looking = False
    _of_session = ""  # the id of the MCP session's kernel

    @default("kernel_manager_class")
    def _kernel_manager_class_default(self) -> str:
        return f"{__name__}.{KernelOfServer.__name__}"

    # --- what there is ---

    def __len__(self) -> int:
        return len(self._kernels)

    def __bool__(self) -> bool:
        return True

    def __contains__(self, kernel_id: object) -> bool:
        if kernel_id not in self._kernels:
            self._look()
        return kernel_id in self._kernels

    def list_kernel_ids(self) -> list[str]:
        """The ids that are known here."""
        return list(self._kernels)

    def list_kernels(self) -> Any:
        """Models of all kernels."""
        self._look()
        return super().list_kernels()

    def get_kernel(self, kernel_id: str) -> Any:
        """The manager of one kernel."""
        if kernel_id not in self._kernels:
            self._look()
        return super().get_kernel(kernel_id)

    def _look(self) -> None:
        """Make this the list of what the server has."""
        if self._looking:
            return
        self._looking = True
        try:
            self._compare(supervisor.list_kernels())
        finally:
            self._looking = False

    def _compare(self, found: list[dict[str, Any]]) -> None:
        for kernel in found:
            kernel_id = kernel["id"]
            if kernel["owner"] == "session":
                self._of_session = kernel_id
            if kernel["state"] != "ready" or kernel_id in self._pending_kernels:
                continue
            if kernel_id in self._kernels:
                self._refresh(kernel_id, kernel["conn"])
            elif kernel["owner"] == "session" or kernel_id not in self._starting():
                self._attach(kernel_id, kernel["conn"])
        there = {kernel["id"] for kernel in found}
        for kernel_id in [id for id in self._kernels if self._is_attached(id)]:
            if kernel_id not in there:
                self._drop(kernel_id)

    def _starting(self) -> set[str]:
        """Kernels of this gateway's own that it has asked for and does not list yet."""
        if not hasattr(self, "_asked_for"):
            self._asked_for: set[str] = set()
        return self._asked_for

    def _is_attached(self, kernel_id: str) -> bool:
        return not self._kernels[kernel_id].owns_kernel

    # --- kernels that somebody else started ---

    def _attach(self, kernel_id: str, info: dict[str, Any]) -> None:
        kernel = self.kernel_manager_factory(
            parent=self, log=self.log, owns_kernel=False, kernel_name="python3"
        )
        kernel.load_connection_info(info)
        kernel.kernel_id = kernel_id
        kernel.last_activity = utcnow()
        kernel.execution_state = "idle"
        kernel.reason = ""
        kernel.ready.set_result(None)
        self._kernels[kernel_id] = kernel
        self._kernel_connections[kernel_id] = 0
        self._kernel_ports[kernel_id] = kernel.ports
        self.start_watching_activity(kernel_id)

    def _drop(self, kernel_id: str) -> None:
        self.stop_watching_activity(kernel_id)
        self._kernels.pop(kernel_id, None)
        for connection in Connection.of_kernel(kernel_id):
            connection.on_restart_failed()

    def start_watching_activity(self, kernel_id: str) -> None:
        """Follow the kernel's messages; remember which kernel it was."""
        super().start_watching_activity(kernel_id)
        kernel = self._kernels[kernel_id]
        kernel.watched_key = kernel.session.key

    def _refresh(self, kernel_id: str, info: dict[str, Any]) -> None:
        """Follow the id to another kernel, if it is another."""
        kernel = self._kernels[kernel_id]
        key = info["key"].encode()
        if kernel.session.key != key:
            for name in port_names:
                setattr(kernel, name, 0)
            kernel.load_connection_info(info)
        if getattr(kernel, "watched_key", key) != key:
            self.stop_watching_activity(kernel_id)
            self.start_watching_activity(kernel_id)
            kernel.execution_state = "idle"
            vars(kernel).pop("_kernel_info_future", None)
        for connection in Connection.of_kernel(kernel_id):
            connection.reattach(key)

    async def watch(self) -> None:
        """Follow what the server does to its kernels, for as long as it lives."""
        while True:
            try:
                async for _ in supervisor.changes():
                    self._look()
            except (OSError, supervisor.Refused) as error:
                self.log.warning("the server does not answer: %s", error)
            await asyncio.sleep(RETRY_SECONDS)

    # --- what is done to them ---

    def _check_number(self) -> None:
        """KG_MAX_KERNELS is for those of the gateway: the session's own is always there."""
        most = os.environ.get(MAX_KERNELS, "")
        if not most:
            return
        there = [k for k in supervisor.list_kernels() if k["owner"] != "session"]
        if len(there) + len(self._starting()) >= int(most):
            raise web.HTTPError(403, f"there are {int(most)} kernels, which is the limit")

    async def start_kernel(self, *args: Any, **kwargs: Any) -> Any:
        """Start one. Its id is chosen first, so that it is not taken for somebody else's."""
        self._check_number()
        if kwargs.get("kernel_id") is None:
            kwargs["kernel_id"] = self.new_kernel_id(**kwargs)
        kernel_id: str = kwargs["kernel_id"]
        self._starting().add(kernel_id)
        try:
            started = await super().start_kernel(*args, **kwargs)
            kernel = self._kernels[started]
            kernel.execution_state = "idle"  # the server has waited for that
            kernel.know_protocol()
            return started
        finally:
            self._starting().discard(kernel_id)

    async def interrupt_kernel(self, kernel_id: str, **kwargs: Any) -> None:
        """Interrupt one."""
        self._check_kernel_id(kernel_id)
        if self._is_attached(kernel_id):
            await supervisor.call("signal", id=kernel_id, sig=int(signal.SIGINT))
        else:
            await super().interrupt_kernel(kernel_id, **kwargs)

    async def restart_kernel(self, kernel_id: str, now: bool = False) -> None:
        """Restart one; returns when its clients are connected to the new kernel."""
        self._check_kernel_id(kernel_id)
        if self._is_attached(kernel_id):
            await supervisor.call("restart", id=kernel_id)
        else:
            await super().restart_kernel(kernel_id, now=now)
        self._look()
        for connection in Connection.of_kernel(kernel_id):
            await connection.attached()

    async def shutdown_kernel(
        self, kernel_id: str, now: bool = False, restart: bool = False
    ) -> Any:
        """End one. The session of MCP always has a kernel: it gets another."""
        self._check_kernel_id(kernel_id)
        if not self._is_attached(kernel_id):
            await self._kernels[kernel_id].begin_to_end()
            return await super().shutdown_kernel(kernel_id, now=now, restart=restart)
        if kernel_id == self._of_session:
            return await self.restart_kernel(kernel_id)
        await supervisor.call("kill", id=kernel_id)
        await supervisor.call("forget", id=kernel_id)
        self._look()
        return None

    async def shutdown_all(self, now: bool = False) -> None:
        """None of them ends because the gateway does."""
