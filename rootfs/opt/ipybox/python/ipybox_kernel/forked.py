"""The kernel application in two halves: what can be made before a fork, and the rest.

It does what IPKernelApp.initialize() and init_kernel() of ipykernel 7.4 do, in another order, and
so depends on their insides; the tests compare its kernels with ordinary ones.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import socket
import sys
import uuid
from typing import Any, NoReturn

import zmq
from IPython.core import interactiveshell
from IPython.core.application import BaseIPythonApplication
from IPython.core.profiledir import ProfileDir
from IPython.paths import get_ipython_dir
from tornado.ioloop import IOLoop
from zmq.eventloop.zmqstream import ZMQStream

from ipybox_kernel import launch, shell_approval
from ipybox_kernel.app import App, count_processors, flush_before_exit, plain_output
from ipybox_kernel.branch import Branches
from ipybox_kernel.confine import confine
from ipybox_kernel.forking import (
    Channel,
    Request,
    await_middle,
    become_kernel,
    inherit_only,
    leave,
)
from ipybox_kernel.sockets import Socket

NOWHERE = "/"  # it is there, and has no profile
PROFILE = "profile_default"
SETTINGS = ("ipython_config.py", "ipython_config.json", "ipybox_kernel_config.py")


def _no_database(path: str) -> None:
    """In place of one in the folder of the template, which is no user's."""


_LEFT: list[Any] = []  # of the kernels that this one was forked from


def has_settings(profile: str) -> bool:
    """Whether this profile may change what the template has built with the image's settings."""
    return any(os.path.exists(f"{profile}/{name}") for name in SETTINGS)


def run_anew(request: Request) -> NoReturn:
    """Become a kernel that was not forked, in the same place behind the same walls."""
    await_middle(request)
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    words = [sys.executable, "-I", "-m", "ipybox_kernel", *request.kernel.argv]
    inherit_only(request.kernel.fds)
    os.execve(sys.executable, words, request.kernel.env)


class ForkedApp(App):
    """build() once in the template; run() in each fork."""

    _database: Any = None  # what opens the shell's; None: IPython does, when it is used
    _line: socket.socket | None = None  # to the shim
    _branches: Branches | None = None

    def build(self) -> None:
        """Settings, kernel and shell, and a cell run once so that its code is warm.

        The settings are the image's: there are no walls here, and a profile is a user's.
        """
        self.ipython_dir = NOWHERE
        self.profile_dir = ProfileDir(parent=self)
        interactiveshell.get_ipython_dir = lambda: NOWHERE  # type: ignore[attr-defined]
        self._database = vars(interactiveshell).get("PickleShareDB")  # earlier versions: at once
        if self._database is not None:
            interactiveshell.PickleShareDB = _no_database  # type: ignore[attr-defined]
        BaseIPythonApplication.initialize(self, [])
        self.init_pdb()
        self.kernel = self.kernel_class.instance(  # type: ignore[attr-defined]
            parent=self,
            session=self.session,
            log=self.log,
            profile_dir=self.profile_dir,
            user_ns=self.user_ns,
        )
        interactiveshell.get_ipython_dir = get_ipython_dir  # type: ignore[attr-defined]
        if self._database is not None:
            interactiveshell.PickleShareDB = self._database  # type: ignore[attr-defined]
        self.init_shell()
        self.init_gui_pylab()
        self.init_extensions()
        launch.forget_flags()
        assert self.shell is not None
        self.shell.run_cell("pass", silent=True, store_history=False)

    def run(self, request: Request, channel: Channel) -> NoReturn:
        """Be the kernel that was asked for; does not return when it was shut down."""
        try:
            become_kernel(request, channel)
            self.open_crash_report()
            if request.confine is not None:
                self._line = confine(request.confine)
            self._set_environment()
            home = get_ipython_dir()
            if has_settings(f"{home}/{PROFILE}"):
                run_anew(request)
            self.shell_runner = shell_approval.prepare()
        except BaseException as error:
            await_middle(request)
            channel.send(id=request.id, error=f"kernel: {error!r}")
            raise
        await_middle(request)
        channel.send(id=request.id, ready=True)
        channel.close()  # what users have must not take the requests for other kernels from it
        with self.starting():
            self._enter_home(home)
            self._connect(request.connection_file)
            self.init_code()  # also hides from %who what is there by now: not for a fork
            sys.stdout.flush()
            sys.stderr.flush()
        self.start()
        leave()

    def be_forkable(self) -> None:
        """Take orders to fork, where there is a shim that gives them."""
        if self._line is not None:
            self._branches = Branches(self, self._line)

    def go_on(self) -> bool:
        """Fork, if that was asked for; then this is one of both."""
        return self._branches is not None and self._branches.go_on()

    def begin_anew(self, line: socket.socket) -> None:
        """In a fork of a kernel that has run: open what belongs to this one. What the other had is
        kept, untouched: its threads are not here, and it is not ours to close."""
        atexit.unregister(self.close)
        names = "heartbeat", "control_thread", "shell_channel_thread", "iopub_thread", "context"
        _LEFT.append([getattr(self, name) for name in names])
        _LEFT.append([sys.stdout, sys.stderr, self.io_loop, self.shell_socket, self._branches])
        for name in names:
            setattr(self, name, None)
        for name in ("shell", "iopub", "stdin", "control", "hb"):
            setattr(self, f"{name}_port", 0)
        self.ip, self._ports, self._given = "", {}, False
        Socket.in_child = False
        zmq.Context._instance = None
        asyncio.set_event_loop(asyncio.new_event_loop())
        self.kernel._main_asyncio_lock = asyncio.Lock()
        self.kernel._aborting = False  # a timer ends it after a cell that failed: it is not here
        self.open_crash_report()
        self._connect(self.connection_file)
        flush_before_exit()
        self.kernel.start()
        self.io_loop = IOLoop.current()
        self._line = line
        self.be_forkable()

    def _set_environment(self) -> None:
        """As an ordinary kernel's after its shell was made."""
        self.given_environment = dict(os.environ)
        os.environ.pop("JPY_PARENT_PID", None)
        launch.need_home()
        plain_output(os.environ, self.given_environment)
        count_processors(os.environ)
        os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")

    def _enter_home(self, home: str) -> None:
        """Take what is the user's, IPython's folder among it; the walls stand."""
        launch.enter_user_site()
        self.init_path()
        assert self.shell is not None and self.profile_dir is not None
        try:
            self.ipython_dir = self.shell.ipython_dir = home
            self.profile_dir.location = f"{home}/{PROFILE}"
            if self._database is not None:
                self.shell.db = self._database(f"{home}/{PROFILE}/db")
        except OSError as error:
            print(f"IPython's profile: {error}", file=sys.stderr)

    def _connect(self, connection_file: str) -> None:
        """Open the sockets and start the threads."""
        self.connection_file = connection_file
        self.session.pid = os.getpid()
        self.session.session = uuid.uuid4().hex
        self.kernel.ident = str(uuid.uuid4())
        self.init_connection_file()
        self.init_sockets()
        self.init_heartbeat()
        self.log_connection_info()
        self.init_io()
        self.init_signal()
        self._wire()

    def _wire(self) -> None:
        """Give the kernel and its shell what an ordinary one gets when it is made."""
        kernel, shell = self.kernel, self.shell
        assert shell is not None
        shell_stream = ZMQStream(self.shell_socket, self.shell_channel_thread.io_loop)
        self.shell_channel_thread.shell_stream = shell_stream
        kernel.control_stream = ZMQStream(self.control_socket, self.control_thread.io_loop)
        self.control_thread.start()
        self.shell_channel_thread.start()
        kernel.shell_stream = shell_stream
        kernel.debug_shell_socket = self.debug_shell_socket
        kernel.control_thread = self.control_thread
        kernel.shell_channel_thread = self.shell_channel_thread
        kernel.iopub_thread = self.iopub_thread
        kernel.iopub_socket = self.iopub_socket
        kernel.stdin_socket = self.stdin_socket
        kernel._stdout, kernel._stderr = sys.stdout, sys.stderr
        kernel.record_ports({name + "_port": port for name, port in self._ports.items()})
        hook, publisher = shell.displayhook, shell.display_pub
        hook.session, hook.pub_socket = self.session, self.iopub_socket
        hook.topic = kernel._topic("execute_result")
        publisher.session, publisher.pub_socket = self.session, self.iopub_socket
        self.displayhook.get_execution_count = lambda: kernel.execution_count
