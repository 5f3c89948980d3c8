"""The kernel: ipykernel's, with interrupts that always end in a reply, and input refused clearly.

Interrupts, in full. Between cells SIGINT is ignored, as in ipykernel. While a cell's code runs, it
raises KeyboardInterrupt there; if the cell waits in a top-level await, its task is cancelled
instead (CancelledError, as in ipykernel). Once the code has ended SIGINT is ignored again, so that
nothing comes between a result and its reply. An interrupt that comes so early that the code has
not begun still ends the cell with a reply; one that comes before the kernel has published
``execute_input`` may be ignored. One that comes when Python has looked for signals for the last
time before a system call that waits, or that another thread has received, would be seen after the
call only; so the main thread is woken again while the cell goes on.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn, cast

import ipykernel
import tornado
import zmq
from ipykernel.ipkernel import IPythonKernel
from IPython.core.error import StdinNotImplementedError
from traitlets import Float

from ipybox_kernel.displays import Displays
from ipybox_kernel.errors import VALUE_MAX, shortened
from ipybox_kernel.history import History
from ipybox_kernel.once import Cell
from ipybox_kernel.publisher import Publisher
from ipybox_kernel.tracebacks import Tracebacks, ending_outside
from ipybox_kernel.variables import ASK, inventory, variables

_WAKE = signal.SIGURG  # ignored by default, so also where a cell takes its handler away
_WAKE_AFTER = (0.01, 0.1, 1.0)  # seconds after the interrupt
_KERNEL_CODE = tuple(module.__path__[0] + os.sep for module in (ipykernel, tornado, zmq))


def _no_input(name: str) -> StdinNotImplementedError:
    return ending_outside(
        StdinNotImplementedError(
            f"{name} is not available: nobody can type an answer while code runs here. "
            "Assign the value in the code instead, for example: answer = 'yes'"
        )
    )


def _in_callback(frame: FrameType | None) -> bool:
    """Whether the event loop has called what is running in `frame`."""
    while frame is not None and frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code is asyncio.Handle._run.__code__:
            return True
    return False


def _in_task(task: asyncio.Task[Any], frame: FrameType | None) -> bool:
    """Whether `frame` runs the code of `task`, and not what the event loop does for it around."""
    whole = getattr(task.get_coro(), "cr_frame", None)
    while frame is not None and frame is not whole:
        frame = frame.f_back
    return frame is not None


def _end_system_call(signum: int, frame: FrameType | None) -> None:
    """The handler of _WAKE: Python looks for other signals wherever one has been handled."""


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def is_of_kernel(task: asyncio.Task[Any]) -> bool:
    """Whether the task serves a request, as opposed to one that a cell has made."""
    code = getattr(task.get_coro(), "cr_code", None)
    return code is not None and code.co_filename.startswith(_KERNEL_CODE)


def _keep_no_parsed_files() -> None:
    """jedi keeps what it has parsed as pickles in ~/.cache, also those of other sessions, and fails
    where a sandbox keeps it from making them. It remembers them in this process all the same."""
    with suppress(ImportError):
        from parso import cache

        for name in ("_load_from_file_system", "_save_to_file_system"):
            setattr(cache, name, _nothing)
        cache._remove_cache_and_update_lock = _nothing


def _nothing(*args: object, **kwargs: object) -> None:
    """In the place of what reads and writes these files."""


def _end_child(reply: dict[str, Any]) -> NoReturn:
    """End a child that a cell has forked, once it comes out of the cell: nobody talks to it here.
    It waits for the threads that it has started, as any Python does."""
    failed = reply.get("status") == "error"
    if failed:
        print(*reply.get("traceback", ()), sep="\n", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    threading._shutdown()  # type: ignore[attr-defined]
    os._exit(1 if failed else 0)


class Kernel(IPythonKernel):
    """One per process."""

    _execute_sleep = Float(0.0).tag(config=True)
    _requests = 0  # that could be interrupted, up to now

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        assert self.shell is not None
        self.shell.enable_tip = False  # chosen with a number of the generator that cells may seed
        self._cell = Cell(self.shell)
        self._history = History(self.shell, self._cell)
        self._displays = Displays(self.shell)
        self._tracebacks = Tracebacks(self.shell)
        self.control_handlers["variables_request"] = self.variables_request

    def start(self) -> None:
        """Begin to serve requests."""
        super().start()
        if _in_main_thread():
            self._wake_for_signals()

    def raw_input(self, prompt: str = "") -> str:
        """What input() calls. Raises StdinNotImplementedError unless the request allows stdin."""
        if not self._allow_stdin:
            raise _no_input("input()")
        return cast(str, super().raw_input(prompt))

    def getpass(self, prompt: str = "", *args: Any, **kwargs: Any) -> str:
        """What getpass.getpass() calls. Raises as raw_input() does."""
        if not self._allow_stdin:
            raise _no_input("getpass()")
        return super().getpass(prompt, *args, **kwargs)

    def pre_handler_hook(self) -> None:
        """Before a request. ipykernel allows interrupts here, outside of what would handle them."""
        self.saved_sigint_handler = signal.getsignal(signal.SIGINT)

    async def complete_request(self, stream: Any, ident: Any, parent: dict[str, Any]) -> None:
        """Complete code, which may run slow properties of the user's."""
        handle = super().complete_request(stream, ident, parent)
        await self._look(handle, stream, ident, parent, "complete_reply")

    async def inspect_request(self, stream: Any, ident: Any, parent: dict[str, Any]) -> None:
        """Describe an object, with the same risk."""
        handle = super().inspect_request(stream, ident, parent)
        await self._look(handle, stream, ident, parent, "inspect_reply")

    async def _look(
        self, handle: Any, stream: Any, ident: Any, parent: dict[str, Any], kind: str
    ) -> None:
        """What an interrupt ends is answered, too."""
        try:
            self._allow_interrupts()
            await handle
        except (KeyboardInterrupt, asyncio.CancelledError):
            self._ignore_interrupts()
            assert self.session is not None
            self.session.send(stream, kind, {"status": "aborted"}, parent, ident=ident)
        finally:
            self._ignore_interrupts()

    async def variables_request(self, stream: Any, ident: Any, parent: dict[str, Any]) -> None:
        """Tell what variables there are: in the control thread, whatever runs in the main one."""
        assert self.shell is not None
        assert self.session is not None
        answer = inventory(self.shell.user_ns, self.shell.user_ns_hidden)
        self.session.send(stream, "variables_reply", answer, parent, ident=ident)

    async def execute_request(self, stream: Any, ident: Any, parent: dict[str, Any]) -> None:
        """Run a cell and reply, also if an interrupt came before or after its own code."""
        try:
            self._allow_interrupts()
            await super().execute_request(stream, ident, parent)
        except (KeyboardInterrupt, asyncio.CancelledError):
            self._ignore_interrupts()
            if self.iopub_thread.in_child:
                os._exit(1)
            assert self.session is not None
            content = self._failed("KeyboardInterrupt")
            self.session.send(stream, "execute_reply", content, parent, ident=ident)

    async def do_complete(self, code: str, cursor_pos: int) -> dict[str, Any]:
        """Names that begin so."""
        _keep_no_parsed_files()
        return cast(dict[str, Any], super().do_complete(code, cursor_pos))

    async def do_execute(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Run a cell; afterwards no interrupt and no waiting until the reply is out.

        The reply to one that failed has its whole traceback, if the one that was sent leaves
        anything out, as `whole_traceback`. What was asked for by ASK stands in it as `variables`.
        """
        publisher: Publisher = self.iopub_thread
        publisher.wait_in_flush = True
        self._tracebacks.forget()
        expressions = kwargs.get("user_expressions")
        asked = isinstance(expressions, dict) and expressions.pop(ASK, None) is not None
        try:
            reply: dict[str, Any] = await super().do_execute(*args, **kwargs)
        except Exception as error:  # ipykernel asks an exception for its text, which may raise
            reply = self._failed(type(error).__name__)
        finally:
            self._ignore_interrupts()
            if not publisher.in_child:
                self._displays.tell_widgets()
            publisher.wait_in_flush = False
            self._cell.forget()
            self._history.forget()
        if publisher.in_child:
            _end_child(reply)
        if reply["status"] == "error":
            reply["evalue"] = shortened(reply["evalue"], VALUE_MAX)
            if self._tracebacks.whole is not None:
                reply["whole_traceback"] = self._tracebacks.whole
        if asked:
            assert self.shell is not None
            with suppress(Exception):  # a class of a package may raise, and the reply must go out
                reply["variables"] = variables(self.shell.user_ns, self.shell.user_ns_hidden)
        return reply

    def _failed(self, ename: str) -> dict[str, Any]:
        """The reply to a cell that ended with what ipykernel does not expect."""
        return {
            "status": "error",
            "ename": ename,
            "evalue": "",
            "traceback": [f"{ename}: "],
            "execution_count": self.execution_count,
            "user_expressions": {},
            "payload": [],
        }

    @contextmanager
    def _cancel_on_sigint(self, future: asyncio.Future[Any]) -> Iterator[None]:
        """Interrupt a cell with a top-level await, whatever it is doing.

        ipykernel only cancels the task, which has no effect while its code does not wait.
        """
        loop = asyncio.get_running_loop()

        def interrupt(signum: int, frame: FrameType | None) -> None:
            running = asyncio.current_task(loop)
            in_code = running is not None and not is_of_kernel(running) and _in_task(running, frame)
            if in_code and running is future:
                raise ending_outside(KeyboardInterrupt())
            if in_code:  # of a task that the user has made
                raise ending_outside(asyncio.CancelledError())
            if _in_callback(frame):  # it may be about to answer what somebody awaits
                loop.call_soon(future.cancel)
            else:
                future.cancel()

        before = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _allow_interrupts(self) -> None:
        if _in_main_thread():
            self._requests += 1
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _ignore_interrupts(self) -> None:
        if _in_main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _wake_for_signals(self) -> None:
        """Make every signal end the main thread's wait: the event loop's, so that what its handler
        asked for is done, and for an interrupt also one in a system call."""
        reader, writer = socket.socketpair()
        for end in (reader, writer):
            end.setblocking(False)
        self._signal_sockets = (reader, writer)
        signal.signal(_WAKE, _end_system_call)
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        loop = self.control_thread.io_loop  # the main thread's does not run while a cell waits
        loop.add_callback(loop.add_handler, reader, self._signal_came, loop.READ)

    # What follows runs in the control thread.

    def _signal_came(self, reader: socket.socket, events: int) -> None:
        signals = reader.recv(4096)
        self.io_loop.add_callback(lambda: None)
        if signal.SIGINT in signals:
            for seconds in _WAKE_AFTER:
                self.control_thread.io_loop.call_later(seconds, self._wake_main, self._requests)

    def _wake_main(self, request: int) -> None:
        """End the system call in which the main thread waits, if it still serves `request`."""
        serving = self._requests == request and signal.getsignal(signal.SIGINT) != signal.SIG_IGN
        if serving and signal.getsignal(_WAKE) is _end_system_call:
            ident = threading.main_thread().ident
            assert ident is not None
            signal.pthread_kill(ident, _WAKE)
