# SPDX-License-Identifier: Apache-2.0
"""Runs in a sandbox that allows pypi.org: every client here, told of no proxy, gets a page of it,
and is refused another name. A line for each: its name, "reached" or "refused", or why not.

sandbox_clients.py [NAME]: this client; without one, what the clients need is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

WAIT = float(os.environ["WAIT"])
ALLOWED = "https://pypi.org/simple/iniconfig/"
DENIED = "https://example.org/"
# What each says of a name that is not there, in its own words.
UNKNOWN = ("resolve", "ENOTFOUND", "getaddrinfo", "Name or service not known", "no such host")

PYTHON = {
    "urllib": "urllib.request as u; print(u.urlopen(url).status)",
    "requests": "requests; print(requests.get(url).status_code)",
    "httpx": "httpx; print(httpx.get(url, timeout=None).status_code)",
    "aiohttp": """aiohttp, asyncio
async def get():
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        print(answer.status)
asyncio.run(get())""",
    "sockets": """socket, ssl, urllib.parse as p
place = p.urlsplit(url)
raw = socket.create_connection((place.hostname, 443))
tls = ssl.create_default_context().wrap_socket(raw, server_hostname=place.hostname)
head = f'Host: {place.hostname}\\r\\nConnection: close\\r\\n\\r\\n'
tls.sendall(f'GET {place.path} HTTP/1.1\\r\\n{head}'.encode())
print(tls.makefile().readline().split()[1])""",
}
PIP = [sys.executable, "-m", "pip"]
NODE = "fetch(process.argv[1]).then(answer => console.log(answer.status))"
CLIENTS = {
    name: [sys.executable, "-c", f"url = {{url!r}}\nimport {code}"] for name, code in PYTHON.items()
}
CLIENTS |= {
    "curl": ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "{url}"],
    "wget": ["wget", "-nv", "-S", "-O", "/dev/null", "--no-check-certificate", "{url}"],
    "node": ["node", "-e", NODE, "{url}"],
    "go": ["/fetch", "{url}"],
    # No repository is there, which it has to be told by the other end.
    "git": ["git", "ls-remote", "{url}"],
    "pip": [*PIP, "download", "--no-deps", "-d", "got", "-i", "{url}../", "iniconfig==2.1.0"],
}


def run(name: str, url: str) -> tuple[bool, str]:
    words = [word.replace("{url!r}", repr(url)).replace("{url}", url) for word in CLIENTS[name]]
    if name == "pip" and url == DENIED:
        words[-2:-1] = [url, "--retries", "1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=WAIT, check=False)
    said = done.stdout + done.stderr
    if name == "git":
        return "not found" in said, said
    return done.returncode == 0 and (name == "pip" or "200" in said), said


def install() -> None:
    proxies = [variable for variable in os.environ if variable.lower().endswith("_proxy")]
    libraries = ["httpx==0.28.1", "aiohttp==3.13.2"]
    words = [*PIP, "install", "-q", "--target", "libraries", *libraries]
    subprocess.run(words, timeout=WAIT, check=True)
    print("proxy variables:", proxies)


def use(name: str) -> None:
    reached, said = run(name, ALLOWED)
    print(name, "reached" if reached else f"not reached: {said}")
    reached, said = run(name, DENIED)
    refused = not reached and any(word in said for word in UNKNOWN)
    print(name, "refused" if refused else f"not refused: {said}")


os.environ["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
os.environ["PYTHONPATH"] = str(Path("libraries").resolve())
if len(sys.argv) > 1:
    use(sys.argv[1])
else:
    install()
