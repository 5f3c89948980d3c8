# SPDX-License-Identifier: Apache-2.0
"""The sockets of a kernel's own, beside pyzmq's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq
from box import WAIT_MS
from ipybox_kernel.sockets import Socket, Visitors


@pytest.fixture
def pair() -> Iterator[tuple[Any, Any]]:
    """One of ours, connected to one of pyzmq's."""
    with zmq.Context() as context:
        ours, theirs = context.socket(zmq.PAIR, socket_class=Socket), context.socket(zmq.PAIR)
        theirs.bind("inproc://pair")
        ours.connect("inproc://pair")
        yield ours, theirs
        ours.close(linger=0)
        theirs.close(linger=0)


@pytest.mark.parametrize("copy", [True, False])
def test_a_message_arrives_in_its_parts(pair: tuple[Any, Any], copy: bool) -> None:
    ours, theirs = pair
    parts: list[Any] = [
        b"",
        b"one",
        memoryview(b"two"),
        bytearray(b"three"),
        zmq.Frame(b"four"),
        b"5" * 99_999,
    ]
    ours.send_multipart(parts, copy=copy)
    ours.send_multipart([b"last"], zmq.NOBLOCK, copy=copy)
    assert theirs.recv_multipart() == [bytes(part) for part in parts]
    assert theirs.recv_multipart() == [b"last"]


def test_of_a_message_with_a_wrong_part_nothing_is_sent(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    with pytest.raises(TypeError):
        ours.send_multipart([b"one", "text"])
    ours.send_multipart([b"two", b"parts"])
    assert theirs.recv_multipart() == [b"two", b"parts"]


def test_what_can_be_done_is_told_as_by_any_socket(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    assert ours.EVENTS == ours.events == theirs.EVENTS == zmq.POLLOUT
    theirs.send(b"x")
    assert ours.poll(WAIT_MS)
    assert ours.EVENTS == ours.events == ours.get(zmq.EVENTS) == zmq.POLLIN | zmq.POLLOUT


def test_a_message_that_finds_no_room_is_refused_whole(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    sent = 0
    with pytest.raises(zmq.Again):
        while True:
            ours.send_multipart([b"a", b"b"], zmq.NOBLOCK)
            sent += 1
    for _ in range(sent):
        assert theirs.recv_multipart() == [b"a", b"b"]
    assert not theirs.poll(50)


def listener(context: zmq.Context[Any], at: str, password: bytes | None) -> zmq.Socket[Any]:
    """A subscriber to everything, that says this password."""
    socket: zmq.Socket[Any] = context.socket(zmq.SUB)
    socket.linger = 0
    if password is not None:
        socket.plain_username, socket.plain_password = b"ipybox", password
    socket.subscribe(b"")
    socket.connect(at)
    return socket


@pytest.fixture
def kernel() -> Iterator[zmq.Context[Any]]:
    """Its end is that of the thread at the door; sockets are to be closed before."""
    context = zmq.Context()
    yield context
    context.term()


def test_who_says_the_password_is_let_in_and_nobody_else_hears_a_word(
    kernel: zmq.Context[Any], tmp_path: Path
) -> None:
    visitors, at = Visitors(password="known"), f"ipc://{tmp_path}/s"
    words = (None, b"no", b"knowns", b"know", b"known\0")
    with zmq.Context() as others, kernel.socket(zmq.XPUB) as iopub, kernel.socket(zmq.PUB) as more:
        for socket in (iopub, more):  # one door is enough
            visitors.admit_to(socket)
        iopub.bind(at)
        strangers = [listener(others, at, word) for word in words]
        friend = listener(others, at, b"known")
        assert iopub.poll(WAIT_MS)
        assert iopub.recv() == b"\1"
        assert not iopub.poll(300)  # no other subscription came through
        iopub.send(b"a word")
        assert friend.recv() == b"a word"
        assert not any(stranger.poll(0) for stranger in strangers)
