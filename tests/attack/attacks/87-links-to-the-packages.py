# SPDX-License-Identifier: Apache-2.0
"""A cell leads the place of packages elsewhere by links, so that pip writes for it what it may not"""

import json

from box import Box, Mode

BREAKS = ("docs/packages.md", "links on the way there are not followed")
ONLY = ["*+S"]

PLANT = """
base = '/app/workspace/.packages'
os.mkdir('/app/workspace/way')
os.symlink('/tmp', '/app/workspace/way/python')
os.rename(base, base + '-old')
os.symlink('way', base)
"""
BUILD = """
got = []
for path in ('/tmp/written', '/app/workspace/.packages/python/written'):
    try:
        open(path, 'w').close()
        got.append('WROTE ' + path)
    except OSError as error:
        got.append(f'refused {path}: {error.strerror}')
raise SystemExit(f'LED {got}')
"""
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "evil"\nbackend-path = ["."]\n'


def box_for(mode: Mode) -> Box:
    box = Box(mode)
    box.environment["PYTHONUSERBASE"] = "/app/workspace/.packages/python"
    (box.workspace / ".packages" / "python").mkdir(parents=True)
    return box


def attack(box: Box) -> str:
    box.run()
    box.cell(
        PLANT + f"os.makedirs('/app/workspace/evil')\n"
        f"open('/app/workspace/evil/pyproject.toml', 'w').write({PROJECT!r})\n"
        f"open('/app/workspace/evil/evil.py', 'w').write({BUILD!r})"
    )
    told = box.install("/app/workspace/evil").text
    if "LED" not in told:
        return "" if "rror" in told else f"pip says {told[:300]}"
    return json.dumps(told) if "WROTE" in told else ""
