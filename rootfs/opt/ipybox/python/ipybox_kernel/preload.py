"""Make preload.txt, the list of modules that a kernel imports sooner or later:

    python3 -m ipybox_kernel.preload > preload.txt

It starts an ordinary kernel, lets it do a little of everything, and prints its modules in the
order in which they were imported. Run it in the image whenever Python, IPython or ipykernel change.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.connect import write_connection_file

CELLS = (
    "1 + 1",
    "print('text')",
    "import os; os.write(1, b'text');",
    "import asyncio; await asyncio.sleep(0)",
    "!true",
    "lines = !echo line",
    "%%bash\ntrue",
    "%timeit -n1 -r1 pass",
    "%pwd",
    "1 / 0",
    "def broken(:",
    "input()",
    "import json; json.dumps?",
    "from IPython.display import HTML, Image, Markdown, display; display(HTML('<b>'))",
    "import subprocess; subprocess.run(['true'])",
    "import ipybox_tools.concurrent",
    "import psutil",  # ipykernel does when it is shut down, to look for children
    # Of what generated packages import; pydantic itself would be 7 MiB that few programs want.
    "import annotated_types, typing_inspection.introspection",
)
LIST = """
import sys
for name, module in list(sys.modules.items()):
    if getattr(module, "__spec__", None) is not None and module.__spec__.name == name:
        print(name)
"""
COMPLETION = ("jedi", "parso")  # 3 MiB that few programs want; they load at the first completion
UNWANTED = ("__main__", "__mp_main__", "sitecustomize", "usercustomize", "ipybox_kernel.__main__")


def modules() -> list[str]:
    """Names of the modules of a kernel that has been used."""
    with tempfile.TemporaryDirectory() as directory:
        path, _ = write_connection_file(f"{directory}/c.json", transport="ipc", ip=f"{directory}/c")
        process = subprocess.Popen(
            [sys.executable, "-I", "-m", "ipybox_kernel", "-f", path],
            env=os.environ | {"IPYTHONDIR": directory},
            stdin=subprocess.DEVNULL,
        )
        client = BlockingKernelClient(connection_file=path)
        client.load_connection_file()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=60)
            for cell in CELLS:
                client.execute_interactive(cell, allow_stdin=False, output_hook=lambda _: None)
            client.complete("import o", reply=True)
            client.inspect("os.path", reply=True)
            text: list[str] = []
            client.execute_interactive(
                LIST, output_hook=lambda message: text.append(message["content"].get("text", ""))
            )
        finally:
            client.stop_channels()
            process.kill()
            process.wait()
    return [
        name
        for name in "".join(text).split()
        if name not in UNWANTED and name.partition(".")[0] not in COMPLETION
    ]


if __name__ == "__main__":
    print("\n".join(modules()))
