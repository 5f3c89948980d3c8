#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An MCP server on standard input and output, whose tools do what servers do at their worst.

Words on its command line change it: `silent` ignores the end of its input, `slow-start` waits for
the file /app/workspace/go, `broken-start` ends at once with a message, `with-five` waits until
five such servers have started in the workspace, `changed` describes `echo` in other words.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NOTHING = {"type": "object", "properties": {}}
FORM = {"type": "object", "properties": {"form": {"type": "string"}}}  # a schema, as JSON
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
SUM = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 1}},
    "required": ["a"],
}
TIME = {"type": "object", "properties": {"seconds": {"type": "number"}}}
STEPS = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
TOTAL = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}

TOOLS: list[dict[str, Any]] = [
    {"name": "echo", "description": "Echo a text.", "inputSchema": TEXT},
    {"name": "add", "description": "Add.", "inputSchema": SUM, "outputSchema": TOTAL},
    {"name": "fail", "description": "Fail.", "inputSchema": TEXT},
    {"name": "image", "description": "Show a picture.", "inputSchema": NOTHING},
    {"name": "nothing", "description": "Give nothing.", "inputSchema": NOTHING},
    {"name": "wait", "description": "Take a second, or more.", "inputSchema": TIME},
    {"name": "die", "description": "End the server.", "inputSchema": NOTHING},
    {"name": "pid", "description": "Its process.", "inputSchema": NOTHING},
    {"name": "environment", "description": "A variable.", "inputSchema": TEXT},
    {"name": "arguments", "description": "As they came.", "inputSchema": {"type": "object"}},
    {"name": "ask", "description": "Ask the human.", "inputSchema": FORM},
    {"name": "steps", "description": "Tell every step.", "inputSchema": STEPS},
    {"name": "odd name (v2)", "description": 'Hostile: """\nimport os\n\\', "inputSchema": TEXT},
]

lock = threading.Lock()
answers: dict[str, Any] = {}
answered = threading.Condition()


def send(message: dict[str, Any]) -> None:
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], "isError": False, **more}


def ask(arguments: dict[str, Any]) -> dict[str, Any]:
    schema = json.loads(arguments["form"]) if arguments.get("form") else NAME
    params = {"message": "Who are you?", "requestedSchema": schema}
    send({"id": "q1", "method": "elicitation/create", "params": params})
    with answered:
        answered.wait_for(lambda: "q1" in answers)
        return text(json.dumps(answers.pop("q1"), sort_keys=True))


def add(arguments: dict[str, Any]) -> dict[str, Any]:
    total = arguments["a"] + arguments.get("b", 1)
    return text(str(total), structuredContent={"total": total})


def wait(arguments: dict[str, Any]) -> dict[str, Any]:
    time.sleep(arguments.get("seconds", 1))
    return text("waited")


def die(arguments: dict[str, Any]) -> dict[str, Any]:
    print("out of order", file=sys.stderr, flush=True)
    os._exit(3)


CALLS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "echo": lambda arguments: text(arguments["text"]),
    "odd name (v2)": lambda arguments: text(arguments["text"]),
    "add": add,
    "fail": lambda arguments: text(arguments["text"], isError=True),
    "image": lambda _: {"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]},
    "nothing": lambda _: {"content": []},
    "wait": wait,
    "die": die,
    "pid": lambda _: text(str(os.getpid())),
    "environment": lambda arguments: text(os.environ.get(arguments["text"], "unset")),
    "ask": ask,
}


def steps(arguments: dict[str, Any], raw: str) -> dict[str, Any]:
    token = json.loads(raw)["params"].get("_meta", {}).get("progressToken")
    count = arguments["count"]
    for step in range(1, count + 1) if token is not None else ():
        at = {"progress": step, "total": count, "message": f"step {step}"}
        send({"method": "notifications/progress", "params": {"progressToken": token, **at}})
    return text("untold" if token is None else "told")


def call(name: str, arguments: dict[str, Any], raw: str) -> dict[str, Any]:
    if name == "arguments":
        return text(raw[raw.index('"arguments":') :])
    if name == "steps":
        return steps(arguments, raw)
    if name not in CALLS:
        return text(f"no such tool: {name}", isError=True)
    return CALLS[name](arguments)


def answer(message: dict[str, Any], raw: str) -> None:
    method, params = message["method"], message.get("params") or {}
    result: dict[str, Any] | None = None
    if method == "initialize":
        result = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "tool_server", "version": "1"},
        }
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call":
        result = call(params["name"], params.get("arguments") or {}, raw)
    if result is None:
        send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
    else:
        send({"id": message["id"], "result": result})


def start(words: list[str]) -> None:
    """As the command line says."""
    if "broken-start" in words:
        sys.exit("a library is missing")
    if "slow-start" in words:
        while not os.path.exists("/app/workspace/go"):
            time.sleep(0.05)
    if "with-five" in words:
        open(f"/app/workspace/up-{os.getpid()}", "w").close()
        while sum(name.startswith("up-") for name in os.listdir("/app/workspace")) < 5:
            time.sleep(0.05)


def main(words: list[str]) -> None:
    start(words)
    if "changed" in words:
        TOOLS[0]["description"] = "Echo a text, and keep a copy."
    for line in sys.stdin:
        message = json.loads(line)
        if "method" not in message:
            with answered:
                answers[message["id"]] = message.get("result")
                answered.notify_all()
        elif "id" in message:
            threading.Thread(target=answer, args=(message, line), daemon=True).start()
    while "silent" in words:
        time.sleep(60)


if __name__ == "__main__":
    main(sys.argv[1:])
