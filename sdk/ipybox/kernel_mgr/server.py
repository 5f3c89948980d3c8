"""KernelGateway: an appliance that is there for its Jupyter Kernel Gateway."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from ipybox.backend import choose
from ipybox.listening import ListeningServer
from ipybox.tool_exec import tokens


class KernelGateway(ListeningServer):
    """Listens on `host`:`port` as docs/gateway.md says; KernelClient and other Jupyter clients
    connect to it.

    `working_dir`: where kernels work, the current directory by default. `sandbox`: run kernels in a
    sandbox, with the settings of the file `sandbox_config`. `env`: variables of the kernels, which
    inherit none of this process. `token`: what clients must present; without one only this machine
    can connect. `log_to_stderr` has no effect: the log goes there anyway.
    """

    def __init__(
        self,
        host: str = "localhost",
        port: int = 8888,
        sandbox: bool = False,
        sandbox_config: Path | None = None,
        log_level: str = "INFO",
        log_to_stderr: bool = False,
        env: dict[str, str] | None = None,
        *,
        working_dir: Path | None = None,
        token: str | None = None,
        backend: str | None = None,
    ) -> None:
        native = choose(backend) == "native"
        options = ["--kernel-gateway-host", host if native else "0.0.0.0"]
        options += ["--kernel-gateway-port", str(port), "--log-level", log_level]
        if sandbox:
            options.append("--sandbox")
        if sandbox and sandbox_config is not None:
            options += ["--sandbox-config", str(Path(sandbox_config).absolute())]
        variables = {f"KERNEL_ENV_{name}": value for name, value in (env or {}).items()}
        if token:
            variables["IPYBOX_KERNEL_GATEWAY_TOKEN"] = token
        own = tokens.Tokens(gateway=token or "")
        super().__init__(host, port, options, variables, own, "/api", backend, working_dir)

    async def __aenter__(self) -> Self:
        await self.start()
        return self
