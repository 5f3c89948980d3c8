"""The HTTP API of a running appliance (docs/http-api.md), one method for each route.

`Client` needs an event loop and keeps connections; use it as a context manager or call close().
Times are milliseconds and sizes bytes, as on the wire. Every method raises HttpError for an answer
that is an error, with the server's problem document.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple, Self
from urllib.parse import quote

import aiohttp

from ipybox.errors import HttpError

Json = dict[str, Any]

LINE_MAX = 32 << 20  # bytes of one event; the server sends at most 8 MiB and their escapes


class Event(NamedTuple):
    """One Server-Sent Event: docs/http-api.md lists the names and what `data` has."""

    name: str
    data: Json
    id: int | None = None


Events = AbstractAsyncContextManager[AsyncIterator[Event]]


class Client:
    """The appliance at `url`, `http://host:port`, with the token of one of its roles or None."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = aiohttp.ClientSession(
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=30),
            read_bufsize=1 << 20,
            json_serialize=json.dumps,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End all connections."""
        await self._http.close()

    # --- sessions ---

    async def sessions(self) -> list[Json]:
        """All sessions."""
        return list((await self._json("GET", "/v1/sessions"))["sessions"])

    async def create_session(self, **members: Any) -> Json:
        """A new session. Members: id, env, cwd, timeout_ms, idle_timeout_ms, approval, sandbox,
        limits."""
        return await self._json("POST", "/v1/sessions", members)

    async def session(self, session: str = "default") -> Json:
        """What the server tells of a session."""
        return await self._json("GET", _path("sessions", session))

    async def delete_session(self, session: str) -> None:
        """End a session and its kernel."""
        await self._json("DELETE", _path("sessions", session))

    async def reset(self, session: str = "default") -> None:
        """Replace the session's kernel; returns when the new one is ready."""
        await self._json("POST", _path("sessions", session, "reset"))

    async def fork(self, session: str = "default", **members: Any) -> list[str]:
        """Make sessions that begin with all that this one has in memory; returns their ids.
        Members: count, name, force, wait, random."""
        made = await self._json("POST", _path("sessions", session, "fork"), members)
        return [str(item["id"]) for item in made["sessions"]]

    async def sandbox(self, session: str = "default") -> Json:
        """The settings of the session's sandbox and what they mean."""
        return await self._json("GET", _path("sessions", session, "sandbox"))

    async def change_sandbox(
        self, settings: Json, session: str = "default", *, reset: bool = False
    ) -> Json:
        """Change them; `reset` allows a new kernel where the running one cannot follow."""
        body = {"settings": settings, **({"reset": True} if reset else {})}
        return await self._json("PUT", _path("sessions", session, "sandbox"), body)

    # --- executions ---

    async def execute(self, code: str, session: str = "default", **members: Any) -> Json:
        """Run a cell and return its result. Members: timeout_ms, max_output_chars, on_disconnect,
        wait."""
        path = _path("sessions", session, "executions")
        return await self._json("POST", path, {"code": code, **members})

    @asynccontextmanager
    async def stream(
        self, code: str, session: str = "default", **members: Any
    ) -> AsyncIterator[AsyncIterator[Event]]:
        """Run a cell and follow its events; leaving the context cancels a cell that still runs."""
        path = _path("sessions", session, "executions")
        async with self._events("POST", path, {"code": code, **members}) as events:
            yield events

    async def executions(self, session: str = "default") -> list[Json]:
        """The newest executions of a session, without their results."""
        return list(
            (await self._json("GET", _path("sessions", session, "executions")))["executions"]
        )

    async def execution(self, execution: str, session: str = "default") -> Json:
        """The state or the result of an execution."""
        return await self._json("GET", _path("sessions", session, "executions", execution))

    async def cancel(self, execution: str, session: str = "default") -> Json:
        """Interrupt an execution or take it out of the queue."""
        return await self._json("DELETE", _path("sessions", session, "executions", execution))

    def follow(
        self, session: str = "default", execution: str | None = None, after: int | None = None
    ) -> Events:
        """The events of a session or of one execution, behind number `after`."""
        parts = ["sessions", session, *(["executions", execution] if execution else []), "events"]
        query = f"?after={after}" if after is not None else ""
        return self._events("GET", _path(*parts) + query)

    # --- approvals ---

    async def approvals(self) -> list[Json]:
        """The tool calls and questions that wait."""
        return list((await self._json("GET", "/v1/approvals"))["approvals"])

    def follow_approvals(self) -> Events:
        """The events of all approvals. While it is open somebody looks, so
        questions come here before they go to an MCP client."""
        return self._events("GET", "/v1/approvals")

    async def decide(self, approval: str, accept: bool, **members: Any) -> None:
        """Decide on a tool call. Members: remember_ms, remember_calls."""
        body = {"decision": "accept" if accept else "reject", **members}
        await self._json("POST", _path("approvals", approval), body)

    async def answer(self, approval: str, action: str, content: Json | None = None) -> None:
        """Answer a question of a server: `action` is accept, decline or cancel."""
        body: Json = {"action": action}
        if content is not None:
            body["content"] = content
        await self._json("POST", _path("approvals", approval), body)

    # --- MCP servers ---

    async def servers(self) -> list[Json]:
        """The registered MCP servers."""
        return list((await self._json("GET", "/v1/mcp-servers"))["servers"])

    async def register_server(self, name: str, params: Json, **members: Any) -> Json:
        """Register an MCP server; the answer has the names of the modules."""
        return await self._json(
            "POST", "/v1/mcp-servers", {"name": name, "params": params, **members}
        )

    async def server(self, name: str) -> Json:
        """One server, with its tools."""
        return await self._json("GET", _path("mcp-servers", name))

    async def remove_server(self, name: str) -> None:
        """End a server; its package stays."""
        await self._json("DELETE", _path("mcp-servers", name))

    # --- packages ---

    async def packages(self) -> list[Json]:
        """Name and version of what a new kernel would import."""
        return list((await self._json("GET", "/v1/packages"))["packages"])

    async def install_package(self, package: str) -> Json:
        """Run pip: {"status": "ok" or "error", "reason", "output", "output_file"}."""
        return await self._json("POST", "/v1/packages", {"package": package})

    # --- files of the workspace ---

    async def read_file(self, path: str) -> bytes:
        """The bytes of a file."""
        async with self._request("GET", "/v1/files?path=" + quote(path, safe="")) as answer:
            return await answer.read()

    async def write_file(self, path: str, data: bytes, *, parents: bool = True) -> Json:
        """Make or replace a file, as a whole or not at all."""
        query = f"?path={quote(path, safe='')}&parents={str(parents).lower()}"
        async with self._request("PUT", "/v1/files" + query, data=data) as answer:
            return dict(await answer.json())

    async def list_files(self, path: str = "") -> list[Json]:
        """The entries of a folder, all pages of it."""
        entries: list[Json] = []
        after = ""
        while True:
            query = f"?list=true&path={quote(path, safe='')}" if path else "?list=true"
            page = await self._json("GET", "/v1/files" + query + (after and f"&after={after}"))
            entries += page["entries"]
            if not page.get("next"):
                return entries
            after = quote(page["next"], safe="")

    async def delete_file(self, path: str, *, recursive: bool = False) -> None:
        """Delete a file, or a folder with what is in it."""
        query = f"?path={quote(path, safe='')}&recursive={str(recursive).lower()}"
        await self._json("DELETE", "/v1/files" + query)

    async def move_file(self, path: str, to: str, *, overwrite: bool = False) -> Json:
        """Rename a file or folder."""
        body = {"action": "move", "to": to, "overwrite": overwrite, "parents": True}
        return await self._json("POST", "/v1/files?path=" + quote(path, safe=""), body)

    async def make_folder(self, path: str) -> Json:
        """Make a folder and those above it."""
        body = {"action": "make_folder", "parents": True}
        return await self._json("POST", "/v1/files?path=" + quote(path, safe=""), body)

    async def read_archive(self, path: str = "") -> bytes:
        """A folder as a tar archive."""
        query = f"?path={quote(path, safe='')}" if path else ""
        async with self._request("GET", "/v1/tar" + query) as answer:
            return await answer.read()

    async def write_archive(self, archive: bytes, path: str = "") -> Json:
        """Put the members of a tar archive into a folder."""
        query = f"?path={quote(path, safe='')}&parents=true" if path else ""
        async with self._request("PUT", "/v1/tar" + query, data=archive) as answer:
            return dict(await answer.json())

    def watch(self, path: str = "", *, recursive: bool = False) -> Events:
        """The events of a folder."""
        query = f"?recursive={str(recursive).lower()}"
        return self._events("GET", "/v1/watch" + query + (path and f"&path={quote(path, safe='')}"))

    # --- health ---

    async def livez(self) -> Json:
        """The server answers; which isolation it has."""
        return await self._json("GET", "/livez")

    async def readyz(self) -> Json:
        """A kernel has come up. HttpError 503: not yet, or the server is stopping."""
        return await self._json("GET", "/readyz")

    async def metrics(self) -> str:
        """Counters in Prometheus' text format."""
        async with self._request("GET", "/metrics") as answer:
            return await answer.text()

    # --- the wire ---

    @asynccontextmanager
    async def _request(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **body: Any
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        async with self._http.request(
            method, self.url + path, headers=headers, allow_redirects=False, **body
        ) as answer:
            if answer.status >= 300:
                raise HttpError(answer.status, await _problem(answer))
            yield answer

    async def _json(self, method: str, path: str, body: Json | None = None) -> Json:
        given = {} if body is None else {"json": body}
        async with self._request(method, path, **given) as answer:
            data = await answer.read()
            found: Json = json.loads(data) if data else {}
            return found

    @asynccontextmanager
    async def _events(
        self, method: str, path: str, body: Json | None = None
    ) -> AsyncIterator[AsyncIterator[Event]]:
        given = {} if body is None else {"json": body}
        headers = {"Accept": "text/event-stream"}
        async with self._request(method, path, headers=headers, **given) as answer:
            yield _read_events(answer)


async def _problem(answer: aiohttp.ClientResponse) -> Json:
    try:
        found = json.loads(await answer.read())
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


async def _read_events(answer: aiohttp.ClientResponse) -> AsyncIterator[Event]:
    name, number = "message", None
    rest = b""
    async for chunk in answer.content.iter_any():
        lines = (rest + chunk).split(b"\n") if b"\n" in chunk else [rest + chunk]
        rest = lines.pop()
        if len(rest) > LINE_MAX:
            raise HttpError(answer.status, {"detail": f"an event has over {LINE_MAX} bytes"})
        for line in lines:
            field, _, value = line.partition(b": ")
            if field == b"event":
                name = value.decode()
            elif field == b"id":
                number = int(value)
            elif field == b"data":
                yield Event(name, json.loads(value), number)
                name, number = "message", None


def _path(*parts: str) -> str:
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)
