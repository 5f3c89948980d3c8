# SPDX-License-Identifier: Apache-2.0
"""Every door by which a client reads, writes, moves, lists or removes a file: one table.

Runs in the container, with nothing but the standard library: the tests of doors in
container/http/98-doors.bats and the attacks on them (attack/attacks/9*) go through it.
"""

from __future__ import annotations

import http.client
import io
import json
import os
import tarfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

WAIT = float(os.environ["WAIT"])  # seconds for whatever is waited for, as in drive.py
ADMIN, EXECUTE = "admin", "execute"
API, ENVD, RUNTIME, SANDBOXD = 8080, 49983, 8888, 9888


@dataclass
class Reply:
    status: int
    body: bytes
    whole: bool = True  # the answer came to its end

    @property
    def refused(self) -> bool:
        return self.status >= 400

    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    port: int, method: str, path: str, body: bytes = b"", head: dict[str, str] | None = None,
    pause: Callable[[], None] | None = None, wait: float = WAIT,
) -> Reply:  # fmt: skip
    """One request. pause: what happens between the first half of the body and the second."""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=wait)
    sent = {"Content-Length": str(len(body))} if body or method in ("PUT", "POST") else {}
    c.putrequest(method, path)
    for name, value in (sent | (head or {})).items():
        c.putheader(name, value)
    c.endheaders()
    half = len(body) // 2 if pause else 0
    try:
        if pause:
            c.send(body[:half])
            pause()
        if body:
            c.send(body[half:])
    except OSError:
        pass  # it has answered before
    reply = c.getresponse()
    try:
        return Reply(reply.status, reply.read())
    except http.client.IncompleteRead as error:
        return Reply(reply.status, error.partial, False)
    finally:
        c.close()


def form(filename: str, content: bytes) -> tuple[bytes, dict[str, str]]:
    head = f'Content-Disposition: form-data; name="file"; filename="{filename}"'
    body = b"--b\r\n" + head.encode() + b"\r\n\r\n" + content + b"\r\n--b--\r\n"
    return body, {"Content-Type": "multipart/form-data; boundary=b"}


def archive(*members: tarfile.TarInfo | tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
                continue
            info = tarfile.TarInfo(member[0])
            info.size, info.mode = len(member[1]), 0o755
            tar.addfile(info, io.BytesIO(member[1]))
    return out.getvalue()


def hard_link(name: str, target: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.LNKTYPE, target
    return info


Act = Callable[..., Reply]


@dataclass
class Door:
    """acts: `read`, `write`, `list`, `remove`, `move` (away), `bring` (a file over it), each with
    the path; `write` also with the content, and with what happens in the middle of it."""

    name: str
    acts: dict[str, Act] = field(default_factory=dict)


SPARE = "spare"  # a file that `bring` brings


def of_files(token: str) -> Door:
    bearer = {"Authorization": f"Bearer {token}"}

    def post(path: str, body: dict[str, Any]) -> Reply:
        head = bearer | {"Content-Type": "application/json"}
        return ask(API, "POST", f"/v1/files/{quote(path)}", json.dumps(body).encode(), head)

    def write(path: str, content: bytes, pause: Any = None) -> Reply:
        to = f"/v1/files/{quote(path)}?parents=true&mode=0600"
        return ask(API, "PUT", to, content, bearer, pause)

    def away(path: str) -> Reply:
        return post(path, {"action": "move", "to": f"away-{uuid.uuid4().hex}"})

    def bring(path: str) -> Reply:
        return post(SPARE, {"action": "move", "to": path, "overwrite": True, "parents": True})

    def remove(path: str) -> Reply:
        return ask(API, "DELETE", f"/v1/files/{quote(path)}?recursive=true", head=bearer)

    return Door(
        "files",
        {
            "read": lambda path: ask(API, "GET", f"/v1/files/{quote(path)}", head=bearer),
            "list": lambda path: ask(API, "GET", f"/v1/files/{quote(path)}?list=true", head=bearer),
            "write": write,
            "folder": lambda path: post(f"{path}/new", {"action": "make_folder"}),
            "remove": remove,
            "move": away,
            "bring": bring,
        },
    )


def of_archives(token: str) -> Door:
    bearer = {"Authorization": f"Bearer {token}"}

    def whole(path: str, *what: Any, pause: Any = None) -> Reply:
        to = f"/v1/tar{'/' if path else ''}{quote(path)}?parents=true"
        return ask(API, "PUT", to, archive(*what), bearer, pause)

    def read(path: str) -> Reply:
        """As a member of the whole workspace: what is not in it is refused."""
        reply = ask(API, "GET", "/v1/tar", head=bearer)
        with tarfile.open(fileobj=io.BytesIO(reply.body)) as tar:
            found = [m for m in tar.getmembers() if m.name.rstrip("/") == path]
            if reply.status == 200 and reply.whole and not found:
                return Reply(403, b"")
            file = tar.extractfile(found[0]) if found and found[0].isfile() else None
            return Reply(reply.status, file.read() if file else b"", reply.whole)

    def link(path: str) -> Reply:
        """A second name of it, which is read then."""
        name = f"hard-{uuid.uuid4().hex}"
        reply = whole("", hard_link(name, path))
        return reply if reply.refused else ask(API, "GET", f"/v1/files/{name}", head=bearer)

    def write(path: str, content: bytes, pause: Any = None) -> Reply:
        folder, _, name = path.rpartition("/")
        return whole(folder, (name, content), pause=pause)

    return Door(
        "archives",
        {
            "read": read,
            "link": link,
            "list": lambda path: ask(API, "GET", f"/v1/tar/{quote(path)}", head=bearer),
            "write": lambda path, content: whole("", (path, content)),
            "write into": write,
            "folder": lambda path: whole("", (f"{path}/new/f", b"")),
        },
    )


def of_watches(token: str) -> Door:
    bearer = {"Authorization": f"Bearer {token}"}

    def watch(path: str) -> Reply:
        c = http.client.HTTPConnection("127.0.0.1", API, timeout=WAIT)
        c.request("GET", f"/v1/watch/{quote(path)}?recursive=true", headers=bearer)
        status = c.getresponse().status
        c.close()
        return Reply(status, b"")

    return Door("watches", {"list": watch})


def of_e2b() -> Door:
    made = ask(API, "POST", "/sandboxes", b'{"templateID":"base"}',
               {"X-API-KEY": ADMIN, "Content-Type": "application/json"})  # fmt: skip
    assert made.status == 201, made
    box = made.json()
    head = {"X-Access-Token": box["envdAccessToken"] or "", "E2b-Sandbox-Id": box["sandboxID"]}

    def rpc(method: str, body: dict[str, Any]) -> Reply:
        to = f"/filesystem.Filesystem/{method}"
        kind = {"Content-Type": "application/json"}
        return ask(ENVD, "POST", to, json.dumps(body).encode(), head | kind)

    def write(path: str, content: bytes, pause: Any = None) -> Reply:
        kind = {"Content-Type": "application/octet-stream"}
        return ask(ENVD, "POST", f"/files?path={quote(path)}", content, head | kind, pause)

    def compose(path: str) -> Reply:
        body = {"source_paths": [SPARE], "destination": path}
        kind = {"Content-Type": "application/json"}
        return ask(ENVD, "POST", "/files/compose", json.dumps(body).encode(), head | kind)

    def take(path: str) -> Reply:
        """As a source of a composition, which is read by another door."""
        name = f"composed-{uuid.uuid4().hex}"
        kind = {"Content-Type": "application/json"}
        body = json.dumps({"source_paths": [path], "destination": name}).encode()
        reply = ask(ENVD, "POST", "/files/compose", body, head | kind)
        return reply if reply.refused else ask(ENVD, "GET", f"/files?path={name}", head=head)

    def away(path: str) -> Reply:
        return rpc("Move", {"source": path, "destination": f"away-{uuid.uuid4().hex}"})

    return Door(
        "E2B",
        {
            "read": lambda path: ask(ENVD, "GET", f"/files?path={quote(path)}", head=head),
            "stat": lambda path: rpc("Stat", {"path": path}),
            "take": take,
            "list": lambda path: rpc("ListDir", {"path": path, "depth": 3}),
            "list by watch": lambda path: rpc("CreateWatcher", {"path": path}),
            "write": write,
            "folder": lambda path: rpc("MakeDir", {"path": f"{path}/new"}),
            "remove": lambda path: rpc("Remove", {"path": path}),
            "move": away,
            "bring": lambda path: rpc("Move", {"source": SPARE, "destination": path}),
            "bring composed": compose,
        },
    )


def of_runtime(token: str) -> Door:
    """agent-sandbox, the contract of the python-runtime."""
    bearer = {"Authorization": f"Bearer {token}"}

    def get(what: str, path: str) -> Reply:
        return ask(RUNTIME, "GET", f"/{what}/{quote(path, safe='')}", head=bearer)

    def write(path: str, content: bytes, pause: Any = None) -> Reply:
        body, kind = form(path, content)
        return ask(RUNTIME, "POST", "/upload", body, bearer | kind, pause)

    def there(path: str) -> Reply:
        reply = get("exists", path)
        gone = reply.status == 200 and not reply.json()["exists"]
        return Reply(404, b"") if gone else reply

    return Door(
        "python-runtime",
        {
            "read": lambda path: get("download", path),
            "list": lambda path: get("list", path),
            "stat": there,
            "write": write,
        },
    )


def of_sandboxd(token: str) -> Door:
    bearer = {"Authorization": f"Bearer {token}"}

    def at(method: str, path: str, more: str = "", body: bytes = b"", pause: Any = None) -> Reply:
        return ask(SANDBOXD, method, f"/v1/files/{quote(path)}{more}", body, bearer, pause)

    return Door(
        "sandboxd",
        {
            "read": lambda path: at("GET", path),
            "list": lambda path: at("GET", path),
            "write": lambda path, content, pause=None: at("PUT", path, "", content, pause),
            "remove": lambda path: at("DELETE", path, "?recursive=true"),
        },
    )


def doors(token: str = EXECUTE) -> list[Door]:
    return [
        of_files(token),
        of_archives(token),
        of_watches(token),
        of_e2b(),
        of_runtime(token),
        of_sandboxd(token),
    ]
