"""The gateway's side of the server's kernels, with a server that the test plays."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import zmq
from box import WAIT
from ipybox_gateway import manager, provisioner, supervisor
from ipybox_gateway.authorization import given_token, is_right, judge_instance, token_form
from ipybox_gateway.manager import KernelOfServer
from ipybox_gateway.provisioner import Provisioner, own_variables
from kernel_gateway.services.kernels.manager import KernelGatewayIOLoopKernelManager

CONNECTION = {"transport": "ipc", "ip": "/x/ch", "key": "secret", "shell_port": 1}


class Server:
    """Answers requests from a table; an operation that is not in it is never answered."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.answers: dict[str, dict[str, Any]] = {}
        self.more: list[dict[str, Any]] = []  # lines after the answer
        self.hung_up = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = json.loads(await reader.readline())
        self.asked.append(request)
        if request["op"] in self.answers:
            for line in [self.answers[request["op"]], *self.more]:
                writer.write(json.dumps(line).encode() + b"\n")
        else:
            await reader.read()
            self.hung_up.set()
        writer.close()

    def ops(self) -> list[str]:
        return [request["op"] for request in self.asked]


@asynccontextmanager
async def server(folder: Path) -> AsyncIterator[Server]:
    """The gateway's connections come to it by descriptor, each as one end of a pair."""
    playing = Server()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    loop, serving = asyncio.get_running_loop(), set()

    async def serve(connection: socket.socket) -> None:
        await playing.serve(*await asyncio.open_unix_connection(sock=connection))

    def on_packet() -> None:
        what, fds, _, _ = socket.recv_fds(ours, supervisor.MESSAGE_MAX, 1)
        assert what == supervisor.CONNECTION
        serving.add(loop.create_task(serve(socket.socket(fileno=fds[0]))))

    loop.add_reader(ours, on_packet)
    supervisor._control = theirs
    with ours, theirs:
        yield playing
        loop.remove_reader(ours)


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(test(), WAIT)

    asyncio.run(bounded())


def launched() -> Provisioner:
    kernel = Provisioner(kernel_id="a1", kernel_spec=None)
    kernel.running = True
    return kernel


# --- requests ---


def test_an_answer_an_error_and_no_answer(tmp_path: Path) -> None:
    async def test() -> None:
        async with server(tmp_path) as playing:
            playing.answers = {"poll": {"rc": None}, "kill": {"error": "there is no kernel a1"}}
            assert await supervisor.call("poll", id="a1") == {"rc": None}
            assert playing.asked == [{"op": "poll", "id": "a1"}]
            with pytest.raises(supervisor.Refused, match="there is no kernel a1"):
                await supervisor.call("kill", id="a1")
        with pytest.raises(OSError):
            await supervisor.call("poll", id="a1")

    run(test)


def test_all_kernels_are_listed_and_their_changes_followed(tmp_path: Path) -> None:
    async def test() -> None:
        async with server(tmp_path) as playing:
            kernels = [{"id": "a1", "owner": "session", "state": "ready", "conn": CONNECTION}]
            playing.answers = {"list": {"kernels": kernels}, "watch": {}}
            playing.more = [{"changed": "a1"}, {"changed": "a2"}]
            assert [change async for change in supervisor.changes()] == ["", "a1", "a2"]
            playing.more = []
            (kernel,) = await asyncio.to_thread(supervisor.list_kernels)
            assert kernel == kernels[0] | {"conn": CONNECTION | {"ip": "/proc/self/fd/6/ch"}}

    run(test)


# --- a kernel's process ---


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ("token t", "token t"),
        ("Bearer t", "token t"),
        ("bearer  t ", "token t"),
        ("Basic eDpzOmM=", "token s:c"),  # x:s:c
        ("Basic %%", "Basic %%"),
        ("Basic /w==", "Basic /w=="),
        ("t", "t"),
        ("", ""),
    ],
)
def test_forms_of_the_token(given: str, known: str) -> None:
    assert token_form(given) == known


@pytest.mark.parametrize(
    ("headers", "argument", "given"),
    [
        ({}, None, None),
        ({"Authorization": "token t"}, None, "t"),
        ({"Authorization": "Bearer t"}, None, "t"),
        ({"Authorization": "t"}, None, None),
        ({"Authorization": "token t"}, "a", "a"),
        ({"X-Ipybox-Token": "x", "Authorization": "token t"}, "a", "x"),
        ({"X-Ipybox-Token": "", "Authorization": "token t"}, None, ""),
    ],
)
def test_which_token_of_a_request_counts(
    headers: dict[str, str], argument: str | None, given: str | None
) -> None:
    assert given_token(headers, argument) == given


def test_a_token_is_right_whole_and_alone() -> None:
    assert is_right("right", "right")
    assert not any(is_right(given, "right") for given in (None, "", "righ", "right,right"))


def test_a_request_for_another_instance_is_not_meant() -> None:
    assert judge_instance({}, "here") == 200
    assert judge_instance({"Ipybox-Instance": "here"}, "here") == 200
    assert judge_instance({"Ipybox-Instance": "there"}, None) == 200
    assert judge_instance({"Ipybox-Instance": "there"}, "here") == 421


@pytest.mark.parametrize("name", ["", "here,here", "a b", "\u00fc", "x" * 254, "a/b", "here\n"])
def test_what_names_no_instance_is_refused(name: str) -> None:
    assert judge_instance({"Ipybox-Instance": name}, "here") == 400


def test_only_variables_for_kernels_are_handed_on() -> None:
    assert own_variables({"KERNEL_A": "1", "PATH": "/bin", "kernel_b": "2"}) == {"KERNEL_A": "1"}
    assert own_variables(None) == {}


def test_a_kernel_is_launched_and_its_end_is_noticed(tmp_path: Path) -> None:
    async def test() -> None:
        kernel = Provisioner(kernel_id="a1", kernel_spec=None)
        async with server(tmp_path) as playing:
            playing.answers = {"launch": {"conn": dict(CONNECTION)}, "poll": {"rc": None}}
            assert not kernel.has_process
            info: Any = await kernel.launch_kernel([], env={"KERNEL_A": "1", "B": "2"}, cwd="/w")
            assert info["key"] == b"secret" and kernel.has_process
            expected = {"op": "launch", "id": "a1", "env": {"KERNEL_A": "1"}, "cwd": "/w"}
            assert playing.asked == [expected]
            assert await kernel.poll() is None
            playing.answers = {"poll": {"rc": -9}}
            assert (await kernel.poll(), kernel.has_process) == (-9, False)
            assert await kernel.poll() == -9  # which asks nobody any more
            assert playing.ops() == ["launch", "poll", "poll"]

    run(test)


def test_a_kernel_that_ends_when_it_is_asked_to_is_not_killed(tmp_path: Path) -> None:
    async def test() -> None:
        kernel = launched()
        async with server(tmp_path) as playing:
            playing.answers = {"wait": {"rc": 0}}
            await kernel.shutdown_requested()
            assert playing.ops() == ["wait"] and not kernel.has_process

    run(test)


def test_a_kernel_that_does_not_end_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provisioner, "END_SECONDS", 2.0)

    async def test() -> None:
        kernel = launched()
        async with server(tmp_path) as playing:
            playing.answers = {"signal": {}}
            await kernel.shutdown_requested()
            assert playing.ops() == ["wait", "signal"]
            assert playing.asked[1]["sig"] == signal.SIGKILL
            await playing.hung_up.wait()  # nobody waits for the answer any more

    run(test)


def test_a_kernel_is_forgotten_unless_it_is_started_again(tmp_path: Path) -> None:
    async def test() -> None:
        async with server(tmp_path) as playing:
            playing.answers = {"forget": {}}
            await launched().cleanup(restart=True)
            assert playing.asked == []
            await launched().cleanup()
            assert playing.asked == [{"op": "forget", "id": "a1"}]

    run(test)


# --- restarts ---


@pytest.fixture
def restarts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the restarts of jupyter_client would have done, each in two steps."""
    log: list[str] = []

    async def restart_kernel(self: object, now: bool = False) -> None:
        log.append(f"begin {now}")
        await asyncio.sleep(0.01)
        log.append(f"end {now}")

    monkeypatch.setattr(KernelGatewayIOLoopKernelManager, "restart_kernel", restart_kernel)
    return log


def test_two_restarts_come_one_after_the_other(restarts: list[str]) -> None:
    async def test() -> None:
        kernel = KernelOfServer()
        await asyncio.gather(kernel.restart_kernel(now=True), kernel.restart_kernel(now=False))
        assert restarts == ["begin True", "end True", "begin False", "end False"]

    run(test)


def test_a_kernel_ends_after_the_restart_that_has_begun_and_is_not_restarted_again(
    restarts: list[str],
) -> None:
    async def test() -> None:
        kernel = KernelOfServer()
        restart = asyncio.ensure_future(kernel.restart_kernel(now=True))
        await asyncio.sleep(0)
        await kernel.begin_to_end()
        assert restarts == ["begin True", "end True"]
        await restart
        await kernel.restart_kernel(now=True)
        assert restarts == ["begin True", "end True"]

    run(test)


def test_the_gateways_kernels_are_of_this_class() -> None:
    async def test() -> None:
        kernels = manager.KernelsOfServer()
        kernel = kernels.kernel_manager_factory(parent=kernels)
        assert isinstance(kernel, KernelOfServer)

    run(test)


def test_a_kernels_sockets_are_told_its_own_password(tmp_path: Path) -> None:
    async def test() -> None:
        kernels = manager.KernelsOfServer()
        one, other, open_to_all = (kernels.kernel_manager_factory(parent=kernels) for _ in range(3))
        one.load_connection_info({**CONNECTION, "ip": f"{tmp_path}/s", "ipybox_password": "first"})
        other.load_connection_info({**CONNECTION, "ipybox_password": "second"})
        open_to_all.load_connection_info(CONNECTION)
        for kernel, expected in ((one, b"first"), (other, b"second"), (open_to_all, b"")):
            streams = [kernel.connect_shell(), kernel.connect_iopub()]
            client = kernel.client()
            sockets = [stream.socket for stream in streams] + [client.connect_shell()]
            assert [socket.plain_password for socket in sockets] == [expected] * 3
            streams[0].close(linger=0)
            streams[1].close(linger=0)
            sockets[2].close(linger=0)
            with kernel.context.socket(zmq.DEALER) as socket_of_others:
                assert socket_of_others.plain_password == b""

    run(test)
