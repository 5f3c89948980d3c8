"""What ToolServer and KernelGateway share: an appliance that is there for one of its ports."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from pathlib import Path

from ipybox.backend import Appliance, choose
from ipybox.tool_exec import tokens

POLL_S = 0.01


class ListeningServer:
    """Start, stop and wait for it; `probe` is a path that answers as soon as it listens."""

    def __init__(
        self,
        host: str,
        port: int,
        options: list[str],
        variables: dict[str, str],
        own: tokens.Tokens,
        probe: str,
        backend: str | None,
        workspace: Path | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self._options = options
        self._variables = variables
        self._tokens = own
        self._probe = probe
        self._backend = backend
        self._workspace = (workspace or Path(".")).absolute()
        self._appliance: Appliance | None = None

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start it; returns when it listens. Raises RuntimeError when it runs already, ServerError
        with the reason when it cannot start."""
        if self._appliance and self._appliance.running:
            raise RuntimeError(f"{type(self).__name__} is already running")
        self._appliance = appliance = Appliance(
            choose(self._backend), self._workspace, self._options, variables=self._variables,
            ports=[self.port],
        )  # fmt: skip
        await appliance.start()
        try:
            while not await asyncio.to_thread(self._answers):
                if not appliance.running:
                    raise await appliance.failure()
                await asyncio.sleep(POLL_S)
        except BaseException:
            await appliance.stop()
            raise
        tokens.remember(self.host, self.port, self._tokens)

    async def stop(self, timeout: float = 10) -> None:
        """End it in order; after `timeout` seconds what is left is killed."""
        tokens.forget(self.host, self.port)
        if self._appliance:
            await self._appliance.stop(timeout)

    async def join(self) -> None:
        """Wait until it has ended."""
        if self._appliance:
            await self._appliance.wait()

    def _answers(self) -> bool:
        url = f"http://{self.host}:{self.port}{self._probe}"
        try:
            with urllib.request.urlopen(url, timeout=2):
                return True
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
