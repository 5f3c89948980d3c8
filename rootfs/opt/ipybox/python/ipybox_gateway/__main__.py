"""``python3 -I -m ipybox_gateway``: serve the clients that the server hands over, until killed."""

from __future__ import annotations

import ctypes
import inspect
import os
from collections.abc import Callable
from functools import partial
from importlib.metadata import EntryPoint
from typing import Any

from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_core.application import JupyterApp
from jupyter_core.paths import jupyter_path
from jupyter_server.log import log_request
from jupyter_server.utils import url_path_join
from kernel_gateway.gatewayapp import KernelGatewayApp
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.iostream import IOStream
from traitlets.config import Config

from ipybox_gateway import supervisor
from ipybox_gateway.authorization import INSTANCE_HEADER, accept_forms
from ipybox_gateway.manager import KernelsOfServer
from ipybox_gateway.status import StatusHandler

PROVISIONER = "ipybox"
NOWHERE = "/"  # must be there; nothing is written in it: a key in a file would be every cell's
PR_SET_DUMPABLE = 4
WARM_SECONDS = 0.1  # after the start: the first request goes first


def configure() -> Config:
    """The settings that a configuration file of the image may still change."""
    config = Config()
    config.KernelGatewayApp.answer_yes = True
    config.KernelGatewayApp.cookie_secret = os.urandom(32)  # else it is written to a file
    config.KernelGatewayApp.kernel_manager_class = "ipybox_gateway.manager.KernelsOfServer"
    config.KernelGatewayApp.kernel_websocket_connection_class = (
        "ipybox_gateway.connection.Connection"
    )
    config.JupyterWebsocketPersonality.list_kernels = True
    config.MappingKernelManager.buffer_offline_messages = False  # it has no bound
    config.ZMQChannelsWebsocketConnection.limit_rate = False  # it drops what is over 1 MB/s
    return config


def log_without_metrics() -> Callable[..., None]:
    """jupyter_server's log of requests; it can leave its metrics out from 2.15 on."""
    name = "record_prometheus_metrics"
    known = name in inspect.signature(log_request).parameters
    return partial(log_request, **{name: False}) if known else log_request


class App(KernelGatewayApp):  # type: ignore[misc]
    """The gateway, behind the server's port."""

    def init_webapp(self) -> None:
        """Serve what the stock one does, and more."""
        super().init_webapp()
        # The stock function writes tokens of URLs to the log, and a line for every request.
        self.web_app.settings["log_function"] = log_without_metrics()
        if instance := os.environ.get("IPYBOX_GATEWAY_INSTANCE"):
            self.web_app.settings.setdefault("headers", {})[INSTANCE_HEADER] = instance
        status = url_path_join(self.base_url, "/api/status")
        self.web_app.add_handlers(".*$", [(status, StatusHandler)])

    def init_http_server(self) -> None:
        """Listen nowhere: clients come one by one from the server, by descriptor."""
        self.http_server = HTTPServer(self.web_app, xheaders=self.trust_xheaders)

    def on_client(self, fd: int, events: int) -> None:
        """Serve those that have come."""
        try:
            while (client := supervisor.next_client()) is not None:
                client.setblocking(False)
                self.http_server.handle_stream(IOStream(client), ("",))
        except EOFError:
            self.io_loop.remove_handler(fd)

    def start_app(self) -> None:
        """Begin to serve."""
        JupyterApp.start(self)
        self.kernel_spec_manager.kernel_dirs = jupyter_path("kernels")  # not IPython's, of a user
        self.log.info("Jupyter Kernel Gateway %s is available", KernelGatewayApp.version)
        kernels: Any = self.kernel_manager
        assert isinstance(kernels, KernelsOfServer)
        self.io_loop.add_callback(kernels.watch)
        self.io_loop.add_handler(supervisor.CONTROL_FD, self.on_client, IOLoop.READ)
        supervisor.ready()
        self.io_loop.call_later(WARM_SECONDS, self.warm)

    def warm(self) -> None:
        """Look for plugins now, which takes some 60 ms, and not when a kernel is wanted."""
        KernelProvisionerFactory.instance(parent=self)
        self.kernel_spec_manager.get_kernel_spec("python3")


def main() -> None:
    """Run the gateway. Code in a kernel has the same uid: it cannot read the token in /proc."""
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    supervisor.control()
    accept_forms()
    os.environ["JUPYTER_DEFAULT_PROVISIONER_NAME"] = PROVISIONER
    os.environ["JUPYTER_RUNTIME_DIR"] = NOWHERE
    KernelProvisionerFactory.provisioners[PROVISIONER] = EntryPoint(
        PROVISIONER,
        "ipybox_gateway.provisioner:Provisioner",
        KernelProvisionerFactory.GROUP_NAME,
    )
    App.launch_instance(argv=[], config=configure())


if __name__ == "__main__":
    main()
