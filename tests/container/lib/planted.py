# ruff: noqa: E501
"""What a cell plants, and what of it has run outside of walls: told to 83-planted.bats.

Every planted thing notes its name, its uid and how many seccomp filters it has over it. Walls are
filters; a process that has no more of them than the server runs outside of any. The docker client
runs PLANT as a cell.
"""

PLANT = r'''
import os, site, sys
from pathlib import Path
NOTE = """
try:
    _status = open('/proc/self/status').read()
    _n = _status.split('Seccomp_filters:')[1].split()[0]
    _u = _status.split('Uid:')[1].split()[0]
    open('/app/workspace/ran', 'a').write('NAME ' + _u + ' ' + _n + '\\n')
except Exception: pass
"""
SHELL = """#!/bin/sh
echo NAME $(sed -n 's/^Uid:.\\([0-9]*\\).*/\\1/p; s/^Seccomp_filters:.//p' /proc/self/status) >> /app/workspace/ran
"""
home, work = Path(os.path.expanduser("~")), Path("/app/workspace")
user = Path(site.getusersitepackages())
base = Path(site.getuserbase())
planted = 0
def plant(path, text):
    global planted
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        planted += 1
    except OSError:
        pass
def module(path, more=""):
    plant(path, NOTE.replace("NAME", str(path)) + more)
def line(path):
    plant(path, "import os; exec(" + repr(NOTE.replace("NAME", str(path))) + ")\n")
MODULES = ("pip", "kernel_gateway", "ipybox_gateway", "ipybox_pip", "ipybox_kernel", "json", "site", "sitecustomize",
           "usercustomize", "runpy", "traitlets", "tornado", "setuptools", "keyring", "distutils")
for folder in work, home:
    for name in MODULES:
        module(folder / (name + ".py"))
    module(folder / "ipybox_gateway" / "__init__.py")
    module(folder / "ipybox_gateway" / "__main__.py")
for folder in {user, work / ".ipybox/python/lib/python3.13/site-packages"}:
    for name in MODULES:
        module(folder / (name + ".py"))
    line(folder / "a.pth")
    line(folder / "zz.pth")
for folder in {base, work / ".ipybox/python", home / ".local"}:
    for name in "python3", "python", "git", "ipybox", "sh", "uvx", "pip":
        plant(folder / "bin" / name, SHELL.replace("NAME", str(folder / "bin" / name)))
    for name in "jupyter_config", "jupyter_kernel_gateway_config", "jupyter_server_config", "jupyter_client_config":
        module(folder / "etc/jupyter" / (name + ".py"))
for folder in home / ".jupyter", work / ".jupyter":
    for name in "jupyter_config", "jupyter_kernel_gateway_config", "jupyter_server_config":
        module(folder / (name + ".py"))
for profile in home / ".ipython/profile_default", work / ".ipython/profile_default":
    module(profile / "ipython_config.py")
    module(profile / "ipython_kernel_config.py")
    module(profile / "startup/00-first.py")
plant(home / ".local/share/jupyter/kernels/python3/kernel.json",
      '{"argv": ["' + str(home / ".local/bin/sh") + '", "{connection_file}"], "display_name": "x", "language": "python"}')
CONFIG = "[global]\nindex-url = http://127.0.0.1:9/\nfind-links = /app/workspace/links\nno-build-isolation = true\n[install]\ntarget = /app/workspace/steered\n"
for path in home / ".config/pip/pip.conf", home / ".pip/pip.conf", work / "pip.conf", base / "pip.conf":
    plant(path, CONFIG)
for path in home / ".pydistutils.cfg", work / "setup.cfg":
    plant(path, "[install]\nprefix = /app/workspace/steered\n")
plant(home / ".gitconfig", "[core]\nsshCommand = " + str(home / ".local/bin/git") + "\n")
plant(home / ".npmrc", "prefix=/app/workspace/steered\n")
for name in ".bashrc", ".profile", ".bash_profile", ".bash_login":
    plant(home / name, SHELL.replace("NAME", str(home / name)))
    plant(work / name, SHELL.replace("NAME", str(work / name)))
plant(work / ".env", "PATH=/app/workspace/.ipybox/python/bin\nLD_PRELOAD=/app/workspace/x.so\nPYTHONPATH=/app/workspace\n"
      "PYTHONUSERBASE=/app/workspace/.ipybox/python\nPYTHONSTARTUP=/app/workspace/json.py\nPIP_TARGET=/app/workspace/steered\n"
      "PIP_CONFIG_FILE=/app/workspace/pip.conf\nIPYBOX_PRELOAD=keyring\nJUPYTER_CONFIG_DIR=/app/workspace/.jupyter\n"
      "IPYTHONDIR=/app/workspace/.ipython\nIPYBOX_PYTHON=/app/workspace/.ipybox/python/bin/python3\nSSL_CERT_FILE=/app/workspace/x\n")
plant(work / "package/pyproject.toml", '[build-system]\nrequires = []\nbuild-backend = "own"\nbackend-path = ["."]\n'
      '[project]\nname = "mine"\nversion = "1"\n')
plant(work / "package/own.py", """
import zipfile
def build_wheel(folder, config=None, metadata=None):
    name = "mine-1-py3-none-any.whl"
    with zipfile.ZipFile(folder + "/" + name, "w") as wheel:
        wheel.writestr("mine.py", "value = 42\\n")
        wheel.writestr("mine-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: mine\\nVersion: 1\\n")
        wheel.writestr("mine-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("mine-1.dist-info/RECORD", "")
    return name
""")
print(planted)
'''
