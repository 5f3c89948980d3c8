"""``python3 -m ipybox_gateway SOCKET SUPERVISOR``: serve HTTP on SOCKET until killed."""

from __future__ import annotations

import ctypes
import os
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_core.application import JupyterApp
from kernel_gateway.gatewayapp import KernelGatewayApp
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_unix_socket
from traitlets.config import Config

from ipybox_gateway import supervisor
from ipybox_gateway.manager import KernelsOfServer

PROVISIONER = "ipybox"
PR_SET_DUMPABLE = 4
WARM_SECONDS = 0.1  # after the start: the first request goes first


def configure() -> Config:
    """The settings that a configuration file may still change."""
    config = Config()
    config.KernelGatewayApp.answer_yes = True
    config.KernelGatewayApp.kernel_manager_class = "ipybox_gateway.manager.KernelsOfServer"
    config.KernelGatewayApp.kernel_websocket_connection_class = (
        "ipybox_gateway.connection.Connection"
    )
    config.JupyterWebsocketPersonality.list_kernels = True
    config.MappingKernelManager.buffer_offline_messages = False  # it has no bound
    config.ZMQChannelsWebsocketConnection.limit_rate = False  # it drops what is over 1 MB/s
    return config


class App(KernelGatewayApp):  # type: ignore[misc]
    """The gateway, behind the server's port."""

    socket_path = ""

    def init_http_server(self) -> None:
        """Listen on the Unix socket to which the server hands its connections on."""
        self.http_server = HTTPServer(self.web_app, xheaders=self.trust_xheaders)
        self.http_server.add_socket(bind_unix_socket(self.socket_path, mode=0o600, backlog=256))

    def start_app(self) -> None:
        """Begin to serve."""
        JupyterApp.start(self)
        self.log.info("Jupyter Kernel Gateway %s is available", KernelGatewayApp.version)
        kernels: Any = self.kernel_manager
        assert isinstance(kernels, KernelsOfServer)
        self.io_loop.add_callback(kernels.watch)
        self.io_loop.call_later(WARM_SECONDS, self.warm)

    def warm(self) -> None:
        """Look for plugins now, which takes some 60 ms, and not when a kernel is wanted."""
        KernelProvisionerFactory.instance(parent=self)
        self.kernel_spec_manager.get_kernel_spec("python3")


def main(argv: list[str]) -> None:
    """Run the gateway. Code in a kernel has the same uid: it cannot read the token in /proc."""
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    App.socket_path, supervisor.path = argv
    os.environ["JUPYTER_DEFAULT_PROVISIONER_NAME"] = PROVISIONER
    os.environ.setdefault("JUPYTER_RUNTIME_DIR", str(Path(App.socket_path).parent / "jupyter"))
    KernelProvisionerFactory.provisioners[PROVISIONER] = EntryPoint(
        PROVISIONER,
        "ipybox_gateway.provisioner:Provisioner",
        KernelProvisionerFactory.GROUP_NAME,
    )
    App.launch_instance(argv=[], config=configure())


if __name__ == "__main__":
    main(sys.argv[1:])
