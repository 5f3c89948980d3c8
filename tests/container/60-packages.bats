# install_package and pip, from the real index. IPYBOX_CA: a CA bundle that this needs here, as for the build.
# bats file_tags=all
load lib/helpers

# Tiny packages: of Python alone, and with an extension module.
pure='iniconfig==2.1.0'
compiled='msgpack==1.1.2'

# with_index [OPTION]... <<'PY' - as drive, with the CA mounted and what the scripts below use.
with_index()
{
    local ca=()
    if [ -n "${IPYBOX_CA:-}" ]; then ca=(-v "$IPYBOX_CA:/ca.pem:ro" -e IPYBOX_CA=/ca.pem); fi
    {
        echo "pure, compiled = '$pure', '$compiled'"
        cat <<'PY'
def install(package):
    answer = tool("install_package", package_name=package)
    if answer.error:
        fail(f"{answer}\n{answer.texts}")
    matches(answer.text, "Successfully installed")
    return answer
USES_PURE = "import iniconfig; iniconfig.IniConfig.__name__"
USES_COMPILED = "import msgpack._cmsgpack; msgpack.packb(7)"
PY
        cat
    } > "$BATS_TEST_TMPDIR/script"
    drive "${ca[@]}" "$@" < "$BATS_TEST_TMPDIR/script"
}

@test "a package can be imported at once, in the kernel that was there before, and after a reset" {
    with_index <<'PY'
prints("x = 1", "")
fails("import iniconfig", "ModuleNotFoundError")
install(pure)
prints(USES_PURE, "'IniConfig'")
install(compiled)
prints(USES_COMPILED, r"b'\x07'")
prints("x", 1)
tool("reset")
prints(USES_PURE, "'IniConfig'")
prints(USES_COMPILED, r"b'\x07'")
PY
}

@test "uv pip installs and uninstalls where pip does, and in a virtual environment where there is one" {
    with_index <<'PY'
for command in "!uv", "%uv":
    runs(f"{command} pip install -q --no-cache {pure}", timeout=WAIT)
    prints("import iniconfig; iniconfig.__file__.startswith('/home/ipybox/.local/lib/python3')", True)
    matches(runs("!pip uninstall -y iniconfig").text, "Successfully uninstalled")
    tool("reset")
    fails("import iniconfig", "ModuleNotFoundError")
runs(f"%uv pip install -q --no-cache {pure}", timeout=WAIT)
runs("!uv pip uninstall -q iniconfig")
fails("import iniconfig", "ModuleNotFoundError")
runs(f"!uv venv -q /tmp/v && VIRTUAL_ENV=/tmp/v uv pip install -q --no-cache {pure}", timeout=WAIT)
prints("import glob; [name[-12:] for name in glob.glob('/tmp/v/lib/*/site-packages/iniconfig')]", ["es/iniconfig"])
fails("import iniconfig", "ModuleNotFoundError")
PY
}

@test "packages outlive their container in a volume on /home/ipybox" {
    local volume=ipybox-test-home-$$
    docker volume create --label ipybox.test "$volume" >/dev/null
    after_test() { docker volume rm -f "ipybox-test-home-$$" >/dev/null; }
    workspace 1234:5678
    with_index -v "$workspace:/app/workspace" -v "$volume:/home/ipybox" <<'PY'
install(pure)
PY
    drive -v "$workspace:/app/workspace" -v "$volume:/home/ipybox" <<'PY'
prints("import iniconfig; iniconfig.__file__.startswith('/home/ipybox/.local/')", True)
PY
}

@test "with an older pydantic a tool's module says what it needs, and has it after that" {
    with_index -v "$here/tool_server.py:/tools/tool_server.py:ro" <<'PY'
registers("demo")
install("pydantic<2")
says = r"need pydantic 2, and an older one is installed: install_package\('pydantic>=2'\), then reset"
fails("from mcptools.demo import add", says)
fails("import mcptools; mcptools.demo.add(a=1)", says)
install("pydantic>=2")
tool("reset")
prints("from mcptools.demo import add; add(a=2).total", 3)
PY
}

@test "tqdm's progress bar comes in its last state" {
    with_index <<'PY'
install("tqdm==4.67.1")
for module in "tqdm", "tqdm.auto":
    answer = runs(f"""
        import time, warnings
        warnings.simplefilter("ignore")         # that there are no widgets
        from {module} import tqdm
        for step in tqdm(range(50), mininterval=0.01, desc="steps"):
            time.sleep(0.005)
    """)
    equal(answer.text.count("steps"), 1)
    matches(answer.text, r"\Asteps: 100%\|█+\| 50/50 \[.*\] *\Z")
PY
}

@test "pip's output is streamed while it works, the answer is what was installed, and a file has all" {
    with_index <<'PY'
id = start_tool("install_package", _meta={"progressToken": "p"}, package_name=pure)
first = receive("progress", lambda m: m.get("method") == "notifications/progress")
answer = finish(id)
text = first["params"]["message"] + "".join(note["message"] for note in notifications("notifications/progress"))
matches(text, r"Collecting iniconfig==2\.1\.0")
matches(text, "Successfully installed iniconfig-2.1.0")
found = matches(answer.text, r"\ASuccessfully installed iniconfig-2\.1\.0\n\[pip's output is in (/app/workspace/outputs/\w+\.txt)\]\Z")
equal(inside("cat", found[1]), text)
matches(tool("install_package", package_name="iniconfig").text, r"\AAlready installed: iniconfig \(2\.1\.0\)\n")
equal("\x1b" in text or "\r" in text, False)
PY
}

@test "any user can install: without an entry in /etc/passwd, on a read-only root, without rights" {
    with_index --user 1000680000:0 --read-only --tmpfs /tmp:exec --cap-drop ALL --security-opt no-new-privileges <<'PY'
install(pure)
install(compiled)
prints(USES_PURE, "'IniConfig'")
prints(USES_COMPILED, r"b'\x07'")
tool("reset")
prints(USES_COMPILED, r"b'\x07'")
PY
}

@test "where /tmp has no execution the packages go into the workspace" {
    workspace 4321:4321
    with_index --user 4321:4321 --read-only --tmpfs /tmp -v "$workspace:/app/workspace" <<'PY'
install(compiled)
prints(USES_COMPILED, r"b'\x07'")
prints("msgpack.__file__.startswith('/app/workspace/.ipybox/')", True)
tool("reset")
prints(USES_COMPILED, r"b'\x07'")
PY
    assert_equal "$(find "$workspace" -mindepth 1 ! -user 4321 | wc -l)" 0
}

@test "PYTHONUSERBASE in the workspace keeps packages beyond the container" {
    workspace 1234:5678
    with_index -v "$workspace:/app/workspace" -e PYTHONUSERBASE=/app/workspace/packages <<'PY'
install(pure)
prints(USES_PURE, "'IniConfig'")
PY
    drive -v "$workspace:/app/workspace" -e PYTHONUSERBASE=/app/workspace/packages <<'PY'
        prints("import iniconfig; iniconfig.IniConfig.__name__", "'IniConfig'")
PY
}

@test "a package that is not there is an error with pip's own words" {
    with_index <<'PY'
answer = tool("install_package", package_name="no-such-package-of-that-name-x9")
equal(answer.error, True)
matches(answer.text, "No matching distribution found for no-such-package-of-that-name-x9")
matches("\n".join(answer.texts), "Error executing tool install_package: pip ended with status 1")
answer = tool("install_package", package_name="not a package!")
equal(answer.error, True)
matches("\n".join(answer.texts), "Invalid requirement")
answer = tool("install_package", package_name="numpy==0.0.99")
equal(answer.error, True)
below(len("\n".join(answer.texts)), 1500)
matches(answer.text, r"No matching distribution found for numpy==0\.0\.99")
prints("1", 1)
PY
}

@test "options of pip are refused as package names" {
    drive <<'PY'
        for option in "--help", "-r/etc/passwd", "--index-url=http://localhost", "-h", "  --help", "\n-v", "", "   ", "\t":
            answer = tool("install_package", package_name=option)
            equal((option, answer.error), (option, True))
            matches(answer.text, "^Error executing tool install_package: package_name: ")
            equal("Usage" in answer.text, False)
PY
}

@test "!pip and %pip in a cell install too" {
    with_index <<'PY'
matches(runs(f"!pip install -q --no-input {pure} && echo installed").text, "installed")
prints(USES_PURE, "'IniConfig'")
matches(runs(f"%pip install {compiled}").text, "Successfully installed")
prints(USES_COMPILED, r"b'\x07'")
PY
}

@test "commands of installed packages are found by !command" {
    with_index <<'PY'
install("wheel==0.45.1")
matches(runs("!wheel version").text, "wheel 0.45.1")
PY
}

@test "an installation runs beside the cells, and ends when it is cancelled" {
    with_index <<'PY'
prints("import socket; never_answers = socket.create_server(('127.0.0.1', 9009))", "")
id = start_tool("install_package", package_name="x @ http://127.0.0.1:9009/x-1.0-py3-none-any.whl")
wait_for("pip", lambda: [p for p in processes() if "ipybox_pip" in p.words])
prints("1 + 1", 2)
notify("notifications/cancelled", requestId=id)
wait_for("the end of pip", lambda: not [p for p in processes() if "ipybox_pip" in p.words])
nothing_else()
wait_for("their reaping", lambda: not zombies())
PY
}

# bats test_tags=all
@test "numpy, pandas and matplotlib do the same in forked kernels, with and without preloading, as in ordinary ones" {
    workspace 1000:1000
    home=$workspace
    cat > "$BATS_TEST_TMPDIR/cells" <<'PY'
CELLS = [
    "%matplotlib inline",
    "import numpy as np, pandas as pd, matplotlib, matplotlib.pyplot as plt; matplotlib.get_backend()",
    "_ = plt.plot([1, 2, 3]); plt.show()",
    "fig, axes = plt.subplots(); fig",
    "pd.DataFrame({'a': [1, 2], 'b': ['x', None]}).describe(include='all')",
    "pd.Series(range(5)).rolling(2).mean().tolist()",
    "np.random.seed(1); np.random.rand(), np.random.default_rng(1).random()",
    "float(np.linalg.inv(np.eye(200) * 2).sum())",
    "from concurrent.futures import ThreadPoolExecutor\n"
    "with ThreadPoolExecutor(4) as e: print([float(x.trace()) for x in e.map(lambda n: np.ones((n, n)) @ np.ones((n, n)), [50] * 8)])",
    "import multiprocessing as m, warnings; warnings.simplefilter('ignore')\n"
    "with m.get_context('fork').Pool(2) as pool: print(pool.map(np.linalg.norm, [np.ones(4)] * 2))",
    "import threading; threading.active_count() > 0, np.show_config is not None",
    "1 / np.float64(0)",
    "np.zeros(2) + np.zeros(3)",
]
def results():
    seen = []
    for code in CELLS:
        answer = cell(code, timeout=WAIT)
        seen.append([code, answer.error, re.sub("[0-9a-f]{8}", "ID", answer.text)])
    return seen
PY
    { cat "$BATS_TEST_TMPDIR/cells"; cat <<'PY'
runs("!uv pip install -q --native-tls --no-cache --target $(python3 -m site --user-site) numpy pandas matplotlib", timeout=WAIT)
tool("reset")
print(json.dumps(results()), file=open("/dev/fd/4", "w"))
PY
    } | with_index -v "$home:/home/ipybox" 4> "$BATS_TEST_TMPDIR/forked"
    for how in IPYBOX_NO_KERNEL_TEMPLATE=1 IPYBOX_PRELOAD=numpy,pandas,matplotlib.pyplot; do
        { cat "$BATS_TEST_TMPDIR/cells"; cat <<'PY'
forked = json.loads(Path(os.environ["FORKED"]).read_text())
for mine, others in zip(results(), forked, strict=True):
    equal(mine, others)
first = runs("np.random.seed(); np.random.rand()").text, runs("np.random.default_rng().random()").text
drawn = []
for _ in range(3):
    tool("reset")
    drawn.append(runs("import numpy as np; np.random.rand()").text)
equal(len(set(drawn)), 3)
PY
        } | FORKED=$BATS_TEST_TMPDIR/forked with_index -v "$home:/home/ipybox" -e "$how"
    done
}

@test "packages that bring another kernel's modules break neither kernels nor later containers with them" {
    workspace 1234:5678
    with_index -v "$workspace:/app/workspace" -e PYTHONUSERBASE=/app/workspace/packages <<'PY'
old = "traitlets==4.3.3 ipykernel==6.29.5 ipython==7.34.0 jupyter_client==6.1.12 jupyter_core==4.12.0 spyder-kernels==2.5.2 tornado==6.1"
matches(runs(f"!pip install -q --no-input --no-deps {old}; echo installed").text, "installed")
prints("import os; sorted(n for n in os.listdir('/app/workspace/packages/lib/python3.13/site-packages') if n in ('IPython', 'ipykernel', 'traitlets'))",
       "['IPython', 'ipykernel', 'traitlets']")
for _ in range(2):
    tool("reset")
    prints("print(42)", "42")
prints("import traitlets; int(traitlets.__version__.split('.')[0]) >= 5", True)
prints("import multiprocessing as m; c = m.get_context('spawn'); c.Process(target=print).start(); 42", "42")
PY
    for how in IPYBOX_LOG_LEVEL=INFO IPYBOX_NO_KERNEL_TEMPLATE=1; do
        drive -v "$workspace:/app/workspace" -e PYTHONUSERBASE=/app/workspace/packages -e "$how" <<'PY'
            prints("print(42)", "42")
PY
    done
}
