"""The kernel application: ipykernel's, with the settings and parts the supervisor relies on."""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, NoReturn, TextIO

import zmq
from ipykernel import heartbeat
from ipykernel.kernelapp import IPKernelApp
from tornado.ioloop import IOLoop
from traitlets.config import Config

from ipybox_kernel import commands, launch, shell_approval, working_dir
from ipybox_kernel.publisher import Publisher
from ipybox_kernel.shell_runner import Runner
from ipybox_kernel.sockets import Socket, Visitors, take_given

SEND_SECONDS = 0.3
GIVEN_FILE = "/proc/self/fd/"  # a connection file that the server has given us open
CONNECTION_MAX = 1 << 16
IOPUB_QUEUE = 64  # messages that ZeroMQ holds for a slow reader; at 64 KiB each: 4 MiB

# Output is read by programs. ipykernel sets the opposite of most of these for people.
# What another Python prints (a worker of joblib, a script) comes while it is printed.
PLAIN_OUTPUT = {
    "NO_COLOR": "1",
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "PYTHONUNBUFFERED": "1",
}
COLOR_SWITCHES = ("CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR")


def configure() -> Config:
    """The settings of every kernel. They win over configuration files in IPYTHONDIR."""
    config = Config()
    config.IPKernelApp.log_level = 50
    config.IPKernelApp.parent_handle = 0
    config.IPKernelApp.kernel_class = "ipybox_kernel.kernel.Kernel"
    config.IPKernelApp.outstream_class = "ipybox_kernel.out_stream.OutStream"
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.Session.packer = "ipybox_kernel.wire.pack"
    # Above it ZeroMQ shares a message's memory, which takes the GIL again to give it back.
    config.Session.copy_threshold = 1 << 20
    return config


def count_processors(environ: Mapping[str, str]) -> None:
    """Let Python see as many processors as PYTHON_CPU_COUNT says, where that is a number.

    From 3.13 on Python reads the variable itself, but not as kernels are started (-I).
    """
    text = environ.get("PYTHON_CPU_COUNT", "")
    if not (text.isascii() and text.isdecimal()) or int(text) == 0:
        return
    for name in ("cpu_count", "process_cpu_count"):  # the latter: from 3.13 on
        if hasattr(os, name):
            setattr(os, name, lambda: int(text))


def plain_output(environ: MutableMapping[str, str], given: Mapping[str, str]) -> None:
    """Set `environ` for output without colours and pagers, but let what was `given` stand."""
    for name in (*PLAIN_OUTPUT, *COLOR_SWITCHES):
        environ.pop(name, None)
    environ.update(PLAIN_OUTPUT)
    if any(name in given for name in COLOR_SWITCHES):
        del environ["NO_COLOR"]
    for name in (*PLAIN_OUTPUT, *COLOR_SWITCHES):
        if name in given:
            environ[name] = given[name]


def flush_before_exit() -> None:
    """Have os._exit() of this process send what was printed; a forked child's is left as it is.

    The pause is for ZeroMQ's own thread, which hands the messages to the socket.
    """
    process, exit_now = os.getpid(), os._exit

    def _exit(status: int) -> NoReturn:
        """Exit to the system with specified status, without normal exit processing."""
        if os.getpid() == process:
            for stream in (sys.stdout, sys.stderr):
                with suppress(Exception):
                    stream.flush()
            time.sleep(SEND_SECONDS)
        exit_now(status)

    os._exit = _exit


class Heartbeat(heartbeat.Heartbeat):
    """As its base class, but it takes the socket that it is given."""

    visitors = Visitors()

    def _try_bind_socket(self) -> None:
        take_given(self.socket, f"{self.ip}-{self.port}", self.port, self.visitors)
        super()._try_bind_socket()


class App(IPKernelApp):
    """One per process."""

    name = "ipybox-kernel"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.given_environment = dict(os.environ)
        self.crash_report: TextIO | None = None
        self.shell_runner: Runner | None = None
        self._given = False  # sockets: see take_given()
        self._visitors = Visitors()

    def _configure_logging(self) -> None:
        """traitlets lets the logger make every record and the handler drop it: five a cell."""
        super()._configure_logging()
        self.log.setLevel(self.log_level)

    def init_crash_handler(self) -> None:
        """Send what can be said about a crash to the stderr that the process was started with."""
        super().init_crash_handler()
        self.open_crash_report()

    def open_crash_report(self) -> None:
        """Take the present descriptor 2 for crashes. Python's traceback of the crashing thread
        goes there, after the line ``Fatal Python error: ...``. What was taken before is let go of:
        a forked kernel would keep the template's, which is the server's."""
        if self.crash_report is None:
            self.crash_report = open(os.dup(2), "w", errors="backslashreplace")
        else:
            os.dup2(2, self.crash_report.fileno(), inheritable=False)
        faulthandler.enable(file=self.crash_report, all_threads=False)

    def excepthook(
        self, etype: type[BaseException], evalue: BaseException, tb: TracebackType | None
    ) -> None:
        """Report what ends the process; descriptor 2 leads into a cell by now."""
        traceback.print_exception(etype, evalue, tb, file=self.crash_report)
        if self.crash_report is not None:
            self.crash_report.flush()

    @contextmanager
    def starting(self) -> Iterator[None]:
        """What fails in here ends the process at once, with the reason. Python would first wait for
        ZeroMQ, which has sockets open by then: whoever wants a kernel would take it for slow."""
        try:
            yield
        except BaseException as error:
            with suppress(Exception):
                sys.stdout.flush()
            os._exit(self._tell_end(error))

    def _tell_end(self, error: BaseException) -> int:
        """As Python tells what ends it; returns the exit status."""
        if not isinstance(error, SystemExit):
            self.excepthook(type(error), error, error.__traceback__)
            return 1
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        print(error.code, file=self.crash_report or sys.stderr, flush=True)
        return 1

    def patch_io(self) -> None:
        """Keep faulthandler away from the captured descriptor: nobody reads that after a crash."""
        stock_enable = faulthandler.enable
        report = self.crash_report

        def enable(file: Any = None, all_threads: bool = True, **kwargs: Any) -> None:
            if file is None or getattr(file, "pub_thread", None) is not None:
                file = report
            stock_enable(file=file, all_threads=all_threads, **kwargs)

        faulthandler.enable = enable

    def init_connection_file(self) -> None:
        """Read the connection file. Without one ipykernel would make its own, on TCP ports."""
        try:
            if self.connection_file.startswith(GIVEN_FILE):
                self._load_given()
            else:
                self.load_connection_file()
        except Exception as error:
            sys.exit(f"connection file {self.connection_file!r}: {error!r}")

    def _load_given(self) -> None:
        """From a descriptor of ours, which nobody else can read; a path would be asked for."""
        fd = int(self.connection_file.removeprefix(GIVEN_FILE))
        os.set_inheritable(fd, False)
        info = json.loads(os.pread(fd, CONNECTION_MAX, 0))
        self._visitors = Visitors(info.pop("ipybox_peer", None), info.pop("ipybox_password", None))
        self.load_connection_info(info)

    def _try_bind_socket(self, s: zmq.Socket[Any], port: int) -> int:
        path = f"{self.ip}-{port}"
        if self.transport == "ipc" and take_given(s, path, port, self._visitors):
            self._given = True
        bound: int = super()._try_bind_socket(s, port)
        return bound

    def init_heartbeat(self) -> None:
        """Start the heart beating, in a context of its own as ipykernel has it."""
        self.heartbeat = Heartbeat(zmq.Context(), (self.transport, self.ip, self.hb_port))
        self.heartbeat.visitors = self._visitors
        self.hb_port = self.heartbeat.port
        self.heartbeat.start()

    def init_control(self, context: zmq.Context[Any]) -> None:
        """Open the control channel. All sockets from here on, those between threads among them,
        are our own; the shell's is there already."""
        context._socket_class = Socket
        super().init_control(context)
        if self._given:
            # A debugger's, of which there is none. ZeroMQ would try to connect it for ever, every
            # 100 ms; disconnect() does not end that.
            self.debug_shell_socket.close(linger=0)
            self.debug_shell_socket = context.socket(zmq.DEALER)

    def init_iopub(self, context: zmq.Context[Any]) -> None:
        """Open the IOPub channel; a reader that is slow slows the kernel down and misses nothing.

        Both options must be set before the socket is bound.
        """
        socket = context.socket(zmq.XPUB)
        socket.linger = 1000
        socket.sndhwm = IOPUB_QUEUE
        socket.setsockopt(zmq.XPUB_NODROP, 1)
        if hasattr(self, "_apply_curve_server_options"):  # from ipykernel 7.3 on
            self._apply_curve_server_options(socket)
        self.iopub_port = self._bind_socket(socket, self.iopub_port)
        self.configure_tornado_logger()
        self.iopub_thread = Publisher(socket, self.session)
        self.iopub_thread.start()
        self.iopub_socket = self.iopub_thread.background_socket

    def start(self) -> None:
        """Serve requests until the kernel is shut down.

        An interrupt that gets past the cell it was meant for, into the event loop, ends only the
        step of the task in which it was raised.
        """
        with self.starting():
            shell_approval.install(self.shell, self.shell_runner)
            working_dir.install(self.shell)
            self.kernel.start()
            self.io_loop = IOLoop.current()
            self.be_forkable()
            flush_before_exit()
        while True:
            try:
                self.io_loop.start()
                if not self.go_on():
                    break
            except KeyboardInterrupt:
                pass
        self._end_control()

    def be_forkable(self) -> None:
        """All is there that belongs to the kernel itself; what comes now is a user's."""

    def go_on(self) -> bool:
        """The event loop has stopped: whether it was not for the kernel's end."""
        return False

    def _end_control(self) -> None:
        """Have the control thread end before the IOPub thread does: it may have yet to publish that
        the request to shut down is done, and could wait for ever for one that has gone."""
        if self.control_thread is not None and self.control_thread.is_alive():
            self.control_thread.stop()
            self.control_thread.join()

    def init_path(self) -> None:
        """Have modules of the workspace found."""
        if not self.ignore_cwd:
            launch.add_working_directory()

    def init_shell(self) -> None:
        """Take the shell over from the kernel, and correct what it has set up."""
        super().init_shell()
        commands.install(self.shell)
        plain_output(os.environ, self.given_environment)
        count_processors(os.environ)
