#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""field.sh's measurements.

figures.py run NAME > NAME.json, with the interpreter of its environment; figures.py table FILE...

Each contender starts as its users start it, and runs a cell. Where it does not start, the reason is
what the table says. FIELD_… variables come from field.sh.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

STARTS = 3
CELLS = 200
SECONDS = 90
TOKEN = "field"
VENVS = Path(os.environ.get("FIELD_VENVS", "."))
IMAGE = os.environ.get("IPYBOX_IMAGE", "ipybox")
ASLEEP = {"entrypoint": ["sleep", "infinity"], "init": True}  # llm-sandbox starts what it needs
WORK = Path(os.environ.get("FIELD_WORK", tempfile.gettempdir()))


def children(root: int) -> list[int]:
    """It and all below it."""
    found = [root]
    for pid in found:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += [int(word) for word in task.read_text().split()]
    return found


def in_container(name: str) -> list[int]:
    command = ["docker", "top", name, "-o", "pid"]
    top = subprocess.run(command, capture_output=True, text=True, check=True)
    return [int(word) for word in top.stdout.split()[1:]]


def memory(pids: list[int]) -> float:
    """PSS in MiB."""
    total = 0
    for pid in set(pids):
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            total += int(re.findall(r"^Pss:\s+(\d+)", text, re.M)[0])
    return total / 1024


def post(url: str, body: dict[str, Any], **headers: str) -> Any:
    headers["Content-Type"] = "application/json"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        return answer.read().decode()


def wait_for(url: str, process: subprocess.Popen[bytes], **headers: str) -> None:
    """Until the process answers; one that finds its port taken ends, and so does the wait."""
    end = time.monotonic() + SECONDS
    while True:
        try:
            urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=5).close()
            return
        except OSError as e:
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{url}: {e}") from e
            time.sleep(0.02)


class Contender:
    """A server, its start to its end."""

    processes: list[subprocess.Popen[Any]]

    def __init__(self) -> None:
        self.processes = []
        self.log = (WORK / f"{type(self).__name__}.log").open("ab")
        try:
            self.start()
        except BaseException:
            Contender.end(self)  # the processes at least
            raise

    def start(self) -> None: ...

    def cell(self, code: str) -> str:
        """What it printed."""
        raise NotImplementedError

    def pids(self) -> list[int]:
        return [pid for process in self.processes for pid in children(process.pid)]

    def spawn(self, *command: str, **more: Any) -> subprocess.Popen[Any]:
        more.setdefault("stdout", self.log)
        process = subprocess.Popen(command, stderr=self.log, **more)
        self.processes.append(process)
        return process

    def end(self) -> None:
        for process in reversed(self.processes):
            below = children(process.pid)
            if process.stdin:
                process.stdin.close()
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            for pid in below:
                with contextlib.suppress(OSError):
                    os.kill(pid, 9)
            process.wait()


class Mcp(Contender):
    """On standard input and output."""

    command: list[str]
    tool = ""
    argument = "code"
    last = 0

    def start(self) -> None:
        self.client = self.spawn(
            *self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=WORK
        )
        info = {"name": "field", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        self.ask("initialize", hello)
        self.send({"method": "notifications/initialized"})

    def send(self, message: dict[str, Any]) -> None:
        assert self.client.stdin is not None
        self.client.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.client.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self.last += 1
        self.send({"id": self.last, "method": method, "params": params})
        assert self.client.stdout is not None
        while line := self.client.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == self.last and "method" not in answer:
                if "error" in answer:
                    raise RuntimeError(answer["error"]["message"])
                return answer["result"]
        raise RuntimeError(
            "the server has ended; its log: " + Path(self.log.name).read_text()[-300:]
        )

    def cell(self, code: str) -> str:
        result = self.ask("tools/call", {"name": self.tool, "arguments": {self.argument: code}})
        return "\n".join(block.get("text", "") for block in result["content"])


class Ipybox(Mcp):
    """ipybox"""

    tool = "execute_ipython_cell"

    def start(self) -> None:
        self.name = f"ipybox-field-{os.getpid()}-{time.monotonic_ns()}"
        self.command = ["docker", "run", "-i", "--rm", "--name", self.name, IMAGE]
        super().start()

    def pids(self) -> list[int]:
        return in_container(self.name)


class JupyterMcp(Mcp):
    """Jupyter Server 2.21.1, jupyter-mcp-server 2.2.4"""

    tool = "execute_code"

    def start(self) -> None:
        binaries, url = VENVS / "jupyter" / "bin", "http://127.0.0.1:18871"
        server = self.spawn(
            *(str(binaries / "jupyter"), "server", "--allow-root", "--no-browser"),
            *("--port=18871", "--ServerApp.port_retries=0"),
            *(f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={WORK}"),
        )
        wait_for(f"{url}/api/status", server, Authorization=f"token {TOKEN}")
        self.command = [
            *(str(binaries / "jupyter-mcp-server"), "start", "--transport", "stdio"),
            *("--code-sandbox-url", url, "--code-sandbox-token", TOKEN),
            *("--document-url", url, "--document-token", TOKEN, "--jupyterlab", "false"),
        ]
        super().start()


class McpRunPython(Mcp):
    """mcp-run-python 0.0.22, Deno 2.9.8"""

    tool = "run_python_code"
    argument = "python_code"

    def start(self) -> None:
        binaries = VENVS / "mcp-run-python" / "bin"
        os.environ["PATH"] = f"{binaries}:{os.environ['PATH']}"
        self.command = [str(binaries / "mcp-run-python"), "stdio"]
        super().start()


class Gateway(Contender):
    """Jupyter Kernel Gateway 3.0.1, jupyter-kernel-client 1.0.2"""

    def start(self) -> None:
        from jupyter_kernel_client import JupyterKernelClient

        url = "http://127.0.0.1:18872"
        server = self.spawn(
            *(str(VENVS / "gateway" / "bin" / "jupyter"), "kernelgateway"),
            *("--KernelGatewayApp.port=18872", "--KernelGatewayApp.port_retries=0"),
            f"--KernelGatewayApp.auth_token={TOKEN}",
        )
        header = {"Authorization": f"token {TOKEN}"}  # the client's own "Bearer" is refused: 401
        wait_for(f"{url}/api", server, **header)
        self.client = JupyterKernelClient(server_url=url, token=TOKEN, headers=header)
        self.client.start()

    def cell(self, code: str) -> str:
        outputs = self.client.execute(code)["outputs"]
        return "".join(str(output.get("text", output.get("evalue", ""))) for output in outputs)

    def end(self) -> None:
        with contextlib.suppress(Exception):
            self.client.stop()
        super().end()


class LlmSandbox(Contender):
    """llm-sandbox 0.3.46: a process for each cell"""

    def start(self) -> None:
        from llm_sandbox import SandboxSession

        self.session = SandboxSession(
            lang="python", image=IMAGE, skip_environment_setup=True, runtime_configs=dict(ASLEEP)
        )
        self.session.open()

    def cell(self, code: str) -> str:
        console = self.session.run(code)
        return str(console.stdout + console.stderr)

    def pids(self) -> list[int]:
        return in_container(getattr(self.session, "_backend_session", self.session).container.id)

    def end(self) -> None:
        self.session.close()


class LlmInteractive(LlmSandbox):
    """llm-sandbox 0.3.46: its interactive session, which installs IPython at each start"""

    def start(self) -> None:
        from llm_sandbox import InteractiveSandboxSession

        settings: dict[str, Any] = dict(ASLEEP)
        if "IPYBOX_CA" in os.environ:
            settings["volumes"] = {os.environ["IPYBOX_CA"]: {"bind": "/ca.pem", "mode": "ro"}}
            settings["environment"] = {"PIP_CERT": "/ca.pem"}
        self.session = InteractiveSandboxSession(
            lang="python", image=IMAGE, runtime_configs=settings
        )
        self.session.open()


class E2b(Contender):
    """E2B's code interpreter server 7df1757, with its JavaScript kernel"""

    def start(self) -> None:
        template, kernels = VENVS / "e2b-source" / "template", VENVS / "e2b-kernels"
        home = Path(tempfile.mkdtemp(dir=WORK))
        shutil.copytree(template / "startup_scripts", home / "profile_default" / "startup")
        shutil.copy(template / "ipython_kernel_config.py", home / "profile_default")
        spec = home / "jupyter" / "kernels" / "javascript"
        spec.mkdir(parents=True)
        deno = [str(kernels / "bin" / "deno"), "jupyter", "--kernel", "--conn", "{connection_file}"]
        kernel = {"argv": deno, "display_name": "JavaScript", "language": "javascript"}
        (spec / "kernel.json").write_text(json.dumps(kernel))
        settings = {
            "JUPYTER_CONFIG_DIR": str(template),
            "IPYTHONDIR": str(home),
            "JUPYTER_PATH": str(home / "jupyter"),
        }
        jupyter = self.spawn(
            *(
                str(kernels / "bin" / "jupyter"),
                "server",
                "--IdentityProvider.token=",
                "--allow-root",
            ),
            *("--no-browser", "--port=8888", "--ServerApp.port_retries=0"),
            env=os.environ | settings,
        )
        wait_for("http://localhost:8888/api/status", jupyter)
        server = self.spawn(
            *(str(VENVS / "e2b-server" / "bin" / "uvicorn"), "main:app", "--port", "49999"),
            *("--workers", "1", "--no-access-log", "--timeout-keep-alive", "640"),
            cwd=template / "server",
            env=os.environ | {"E2B_LOCAL": "true"},  # there is no envd to ask for variables
        )
        wait_for("http://localhost:49999/health", server)

    def cell(self, code: str) -> str:
        lines = post("http://localhost:49999/execute", {"code": code}).splitlines()
        events = [json.loads(line) for line in lines]
        return "".join(str(event.get("text", event.get("value", ""))) for event in events)


CONTENDERS: dict[str, type[Contender]] = {
    "ipybox": Ipybox,
    "jupyter": JupyterMcp,
    "gateway": Gateway,
    "mcp-run-python": McpRunPython,
    "llm-sandbox": LlmSandbox,
    "llm-sandbox-interactive": LlmInteractive,
    "e2b": E2b,
}


def first_cell(kind: type[Contender]) -> tuple[float, bool, Contender]:
    begin = time.monotonic()
    contender = kind()
    try:
        text = contender.cell("print('<' + str(6 * 7) + '>')")
    except BaseException:
        contender.end()
        raise
    return time.monotonic() - begin, "<42>" in text, contender


def measure(kind: type[Contender]) -> dict[str, Any]:
    firsts, lost_first = [], 0
    for number in range(STARTS):
        seconds, whole, contender = first_cell(kind)
        firsts.append(seconds)
        lost_first += not whole
        if number < STARTS - 1:
            contender.end()
    try:
        warm, lost = [], 0
        for number in range(CELLS):
            begin = time.monotonic()
            lost += f"<{number}>" not in contender.cell(f"print('<' + str({number}) + '>')")
            warm.append(time.monotonic() - begin)
        contender.cell("kept = 41")
        kept = "<42>" in contender.cell("print('<' + str(kept + 1) + '>')")
        mib = memory(contender.pids())
    finally:
        contender.end()
    warm.sort()
    return {
        "first": statistics.median(firsts),
        "p50": warm[len(warm) // 2],
        "p99": warm[len(warm) * 99 // 100],
        "memory": mib,
        "lost": lost,
        "lost_first": lost_first,
        "kept": kept,
    }


def run(name: str) -> None:
    kind = CONTENDERS[name]
    result: dict[str, Any] = {"label": kind.__doc__}
    try:
        result |= measure(kind)
    except Exception as e:
        words = re.sub(r"\x1b\[\d*m", "", f"{type(e).__name__}: {e}")
        result["failed"] = " ".join(words.split())[-300:]
    print(json.dumps(result))


def shown(seconds: float) -> str:
    ms = seconds * 1000
    return f"{ms:.0f} ms" if ms >= 100 else f"{ms:.3g} ms"


def table(files: list[str]) -> None:
    print(
        "| | first cell | warm cell, p50 | p99 | memory (PSS) | lost, of the warm | of the first |"
        " keeps variables |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---|")
    for file in files:
        r = json.loads(Path(file).read_text())
        if "failed" in r:
            print(f"| {r['label']} | did not run: {r['failed'].replace('|', '/')} | | | | | | |")
            continue
        print(
            f"| {r['label']} | {r['first'] * 1000:.0f} ms | {shown(r['p50'])} |"
            f" {shown(r['p99'])} | {r['memory']:.0f} MiB | {r['lost']} of {CELLS} |"
            f" {r['lost_first']} of {STARTS} | {'yes' if r['kept'] else 'no'} |"
        )


if __name__ == "__main__":
    if sys.argv[1] == "table":
        table(sys.argv[2:])
    else:
        run(sys.argv[2])
