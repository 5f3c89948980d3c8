"""Shell commands in cells ask for approval first (docs/shell-approval.md).

IPYBOX_APPROVE_SHELL_CMDS=1 has ``!cmd``, ``x = !cmd``, ``!!cmd``, %sx, %system, %%!, aliases, %pip,
and the script cells (%%bash, %%sh, %%script …) ask. That holds for those who use them; code can
still start processes in other ways. IPYBOX_REQUIRE_SHELL_ESCAPE=1, with the former, takes these
away: the kernel may not execute programs (``exec_filter``), and the commands are run by a process
that asks for itself (``shell_runner``).
"""

from __future__ import annotations

import errno
import functools
import os
import sys
from typing import Any, NoReturn, Protocol

from ipybox_kernel.exec_filter import forbid_programs, leave_runner
from ipybox_kernel.shell_runner import SHELL, Runner, magic_text

APPROVE = "IPYBOX_APPROVE_SHELL_CMDS"
REQUIRE = "IPYBOX_REQUIRE_SHELL_ESCAPE"


def prepare() -> Runner | None:
    """Before any thread and any code of the user: give up the right to execute programs, if that
    is asked for. Returns what runs them then. Raises OSError if it is not possible."""
    if os.environ.get(APPROVE) != "1" or os.environ.get(REQUIRE) != "1":
        return None
    runner = Runner()
    leave_runner()
    forbid_programs()
    return runner


def install(shell: Any, runner: Runner | None) -> None:
    """Change the shell as the environment asks for."""
    if os.environ.get(APPROVE) != "1":
        return
    _Hooks(shell, _Isolated(runner) if runner is not None else _Local(shell))
    if runner is not None:
        refuse_processes()


class _Executor(Protocol):
    """Asks, and then runs."""

    def system(self, command: str) -> int: ...
    def output(self, command: str) -> tuple[str, int]: ...
    def script(self, hooks: _Hooks, line: str, cell: str) -> None: ...


class _Local:
    """In this process, as IPython does it."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell

    def system(self, command: str) -> int:
        from IPython.utils.process import system  # type: ignore[attr-defined]

        _ask("shell", command)
        status: int = system(command)
        return status

    def output(self, command: str) -> tuple[str, int]:
        from IPython.utils.process import (  # type: ignore[attr-defined]
            get_output_error_code,
            getoutput,
        )

        _ask("shell", command)
        if not _raises(self.shell):
            text: str = getoutput(command)
            return text, 0
        out, err, status = get_output_error_code(command)
        return out + err, status or 0

    def script(self, hooks: _Hooks, line: str, cell: str) -> None:
        _, argv = hooks.parse(line)
        _ask("shell_magic", magic_text(argv, cell))
        hooks.stock_script(line, cell)


class _Isolated:
    """By the runner, which asks."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner

    def system(self, command: str) -> int:
        with open(os.devnull, "rb") as nothing:
            _flush()
            status = self.runner.run([*SHELL, command], (nothing.fileno(), 1, 2))
        return 128 - status if status > 128 else status

    def output(self, command: str) -> tuple[str, int]:
        with open(os.devnull, "rb") as nothing, _Captured() as taken:
            status = self.runner.run([*SHELL, command], (nothing.fileno(), taken.fd, taken.fd))
            return taken.text(), status

    def script(self, hooks: _Hooks, line: str, cell: str) -> None:
        args, argv = hooks.parse(line)
        if args.bg:
            raise OSError("Background processes not supported.")
        text = cell if cell.endswith("\n") else cell + "\n"
        with open(os.devnull, "rb") as nothing, _Captured() as out, _Captured() as err:
            _flush()
            fds = nothing.fileno(), out.fd if args.out else 1, err.fd if args.err else 2
            try:
                status = self.runner.run(argv, fds, text)
            except OSError as error:
                if error.errno != errno.ENOENT:
                    raise
                print(f"Couldn't find program: {argv[0]!r}")
                return
            finally:
                for name, taken in ((args.out, out), (args.err, err)):
                    if name:
                        hooks.shell.user_ns[name] = taken.text()
        if args.raise_error and status != 0:
            _failed(status, cell)


class _Captured:
    """A file in memory that a command writes."""

    def __enter__(self) -> _Captured:
        self.fd = os.memfd_create("output", os.MFD_CLOEXEC)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)

    def text(self) -> str:
        with open(os.dup(self.fd), "rb") as file:
            file.seek(0)
            return file.read().decode("utf-8", "replace")


class _Hooks:
    """Takes the place of what IPython runs commands with."""

    def __init__(self, shell: Any, executor: _Executor) -> None:
        self.shell = shell
        self.executor = executor
        self.stock_script = shell.find_cell_magic("script")
        shell.system = self.system
        shell.getoutput = self.getoutput

        @functools.wraps(self.stock_script)
        def hook(line: str, cell: str) -> None:
            executor.script(self, line, cell)

        self.stock_script.__self__.shebang = hook  # %%bash and its like call it
        shell.magics_manager.magics["cell"]["script"] = hook

    def system(self, cmd: str) -> None:
        """``!cmd``: run a command; its status is in `_exit_code`."""
        _no_background(cmd)
        status = self.executor.system(self.shell.var_expand(cmd, depth=1))
        self.shell.user_ns["_exit_code"] = status
        if _raises(self.shell) and status != 0:
            _failed(status, cmd)

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        """``x = !cmd``: run a command; returns its output, as a list of lines if `split`."""
        from IPython.utils.text import LSString, SList

        _no_background(cmd)
        output, status = self.executor.output(self.shell.var_expand(cmd, depth=depth + 1))
        if _raises(self.shell):
            self.shell.user_ns["_exit_code"] = status
            if status != 0:
                _failed(status, cmd)
        return SList(output.splitlines()) if split else LSString(output)

    def parse(self, line: str) -> tuple[Any, list[str]]:
        """The options of a script cell, and the command."""
        from IPython.utils.process import arg_split  # type: ignore[attr-defined]

        args, argv = self.stock_script.parser.parse_known_args(arg_split(line, posix=True))
        return args, argv


def refuse_processes() -> None:
    """Have what would start a process say so at once; the kernel would get EPERM."""
    import _posixsubprocess
    import pty
    import subprocess

    subprocess._USE_POSIX_SPAWN = False  # type: ignore[misc]  # the next line says what it is
    subprocess._fork_exec = _refusal("subprocess")  # type: ignore[attr-defined]
    for name in dir(os):
        if name.startswith(("exec", "spawn", "posix_spawn")) or name == "system":
            setattr(os, name, _refusal(f"os.{name}()"))
    pty.spawn = _refusal("pty.spawn()")
    _posixsubprocess.fork_exec = _refuse_new_interpreter


def _refusal(what: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"Direct {what} calls are not allowed. Use ! syntax.")

    return refuse


def _refuse_new_interpreter(*args: Any) -> NoReturn:
    raise RuntimeError(
        "New processes are not allowed here: multiprocessing can only fork "
        "(multiprocessing.get_context('fork')); for shell commands use ! syntax."
    )


def _ask(tool: str, command: str) -> None:
    from ipybox_tools import ApprovalRequestor

    ApprovalRequestor("ipybox").request_sync(tool, {"cmd": command})


def _raises(shell: Any) -> bool:
    """Whether a command that fails is an error in the cell: a setting of IPython from 9.11 on."""
    return bool(getattr(shell, "system_raise_on_error", False))


def _no_background(command: str) -> None:
    if command.rstrip().endswith("&"):
        raise OSError("Background processes not supported.")


def _failed(status: int, command: str) -> NoReturn:
    from subprocess import CalledProcessError

    raise CalledProcessError(status, command)


def _flush() -> None:
    """What was printed before comes before what the command prints."""
    sys.stdout.flush()
    sys.stderr.flush()
