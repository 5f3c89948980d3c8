# The kernel gateway and MCP on the same kernels: what a client of one does is seen by the other.
load lib/helpers

# Scripts of drive.py say `there(CODE)`: CODE runs inside the container with what kernels_client.py has; it is the body of a
# coroutine. What it prints is the answer.
vocabulary='
import textwrap
def there(code, token=""):
    client = Path(os.environ["CLIENT"]).read_text().replace("TOKEN = \"\"", f"TOKEN = {token!r}")
    body = textwrap.indent(textwrap.dedent(code).strip(), "    ")
    script = f"{client}\nasync def main():\n{body}\nasyncio.run(main())\n"
    return docker("exec", "-i", "-u", "0", "-e", f"WAIT={WAIT}", box.name, "python3", "-", stdin=script).strip()
def gateways():
    return [p for p in processes() if "ipybox_gateway" in p.words and "shim" not in p.words]
'

# talk [OPTION]... [-- WORD]... <<'PY' - as drive, with the vocabulary, after a handshake.
talk()
{
    { printf '%s\ngreet()\n' "$vocabulary"; cat; } > "$BATS_TEST_TMPDIR/script"
    CLIENT=$here/kernels_client.py drive "$@" < "$BATS_TEST_TMPDIR/script"
}

with_gateway=(-- --kernel-gateway-port 8888)

@test "the gateway starts with the first connection" {
    talk "${with_gateway[@]}" <<'PY'
prints("1", 1)
equal(gateways(), [])
cold, warm = json.loads(there("print(json.dumps([timed('GET', '/api')[2], timed('GET', '/api')[2]]))"))
note(f"first request: {cold:.0f} ms, second: {warm:.1f} ms")
equal(len(gateways()), 1)
PY
}

@test "variables set by MCP are seen through the gateway and the other way" {
    talk "${with_gateway[@]}" <<'PY'
prints("x = 41; x", 41)
equal(there("""
    channels = await Channels.open(session_kernel())
    print(await channels.run("x += 1; y = 'from the gateway'; print(x)"))
"""), "42")
prints("x, y", "(42, 'from the gateway')")
PY
}

@test "what a client of the gateway prints is no output of an MCP cell" {
    talk "${with_gateway[@]}" <<'PY'
prints("1", 1)
there("""
    channels = await Channels.open(session_kernel())
    for i in range(20):
        await channels.run(f"print('not yours', {i})")
""")
equal(cell("print('mine')").text, "mine")
PY
}

@test "the session's kernel is interrupted, restarted and deleted through the gateway, and keeps its id and clients" {
    talk "${with_gateway[@]}" <<'PY'
prints("x = 1; x", 1)
print(there("""
    id = session_kernel()
    channels = await Channels.open(id)
    cell = await channels.send("import time; print('on', flush=True); time.sleep(60)")
    begun = await channels.begun(cell)
    assert (await act("POST", f"/api/kernels/{id}/interrupt"))[0] == 204
    assert (begun.strip(), await channels.finish(cell)) == ("on", "KeyboardInterrupt")
    assert await channels.run("print(x)") == "1"
    status, model, restarted = await act("POST", f"/api/kernels/{id}/restart")
    assert (status, model["id"]) == (200, id), (status, model)
    assert await channels.run("print('x' in globals())") == "False"
    await channels.run("x = 2")
    status, _, deleted = await act("DELETE", f"/api/kernels/{id}")
    assert status == 204
    assert await channels.run("print('x' in globals())") == "False"
    assert session_kernel() == id
"""))
fails("x", "NameError")
PY
}

@test "a reset by MCP takes the gateway's clients along" {
    talk "${with_gateway[@]}" <<'PY'
prints("x = 1", "")
import threading
printed = []
client = threading.Thread(target=lambda: printed.append(there("""
    channels = await Channels.open(session_kernel())
    await channels.run("import os; first = os.getpid()")
    open("/tmp/ready", "w").close()
    await channels.restarted()
    print(await channels.run("print('fine', 'first' in globals())"))
""")))
client.start()
wait_for("the client", lambda: inside("ls", "/tmp/ready", check=False))
prints("'first' in globals()", True)
tool("reset")
client.join(WAIT)
equal(printed, ["fine False"])
PY
}

@test "kernels are created, used, interrupted, restarted and deleted, and each is its own" {
    talk "${with_gateway[@]}" <<'PY'
prints("x = 1; x", 1)
there("""
    status, model, _ = await act("POST", "/api/kernels", {"name": "python3", "env": {"KERNEL_A": "a 'b'", "OTHER": "no"}})
    assert status == 201, model
    id = model["id"]
    assert len(ask("GET", "/api/kernels")[1]) == 2
    channels = await Channels.open(id)
    said = await channels.run("import os; print(os.environ.get('KERNEL_A'), os.environ.get('OTHER'), 'x' in globals(), os.getcwd())")
    assert said == "a 'b' None False /app/workspace", said
    cell = await channels.send("import time; print('on', flush=True); time.sleep(60)")
    begun = await channels.begun(cell)
    assert (await act("POST", f"/api/kernels/{id}/interrupt"))[0] == 204
    assert (begun.strip(), await channels.finish(cell)) == ("on", "KeyboardInterrupt")
    await channels.run("y = 1")
    status, _, _ = await act("POST", f"/api/kernels/{id}/restart")
    assert status == 200
    assert await channels.run("print('y' in globals(), os.environ['KERNEL_A'] if 'os' in globals() else '')") == "False"
    status, _, _ = await act("DELETE", f"/api/kernels/{id}")
    assert status == 204
    assert len(ask("GET", "/api/kernels")[1]) == 1
    assert ask("GET", f"/api/kernels/{id}")[0] == 404
""")
prints("x", 1)
PY
}

@test "kernels that crashed, stand still or have children are deleted, and nothing is left of them" {
    talk "${with_gateway[@]}" <<'PY'
prints("1", 1)
there("""
    for what in (
        "import os; os._exit(3)",
        "import os; os.kill(os.getpid(), 19)",
        "import subprocess; p = subprocess.Popen(['sleep', '1000'])",
        "import os, time; print(1, flush=True); time.sleep(1000)",
    ):
        id = (await act("POST", "/api/kernels"))[1]["id"]
        channels = await Channels.open(id)
        await channels.run("1")
        await channels.send(what)
        status, _, _ = await act("DELETE", f"/api/kernels/{id}")
        assert status == 204, (what, status)
    assert len(ask("GET", "/api/kernels")[1]) == 1
""")
wait_for("their end", lambda: not [p for p in processes() if "sleep" in p.words])
prints("2", 2)
PY
}

# jupyter_client looks every 3 s whether a kernel still runs, and starts one anew that does not.
# bats test_tags=all
@test "kernels that are being started again are deleted, and nothing is left of them" {
    talk "${with_gateway[@]}" <<'PY'
prints("1", 1)
there("""
    for wait in (2.97, 2.99, 3.0, 3.01, 3.03):
        status, model, _ = await act("POST", "/api/kernels")
        begin = time.monotonic()
        channels = await Channels.open(model["id"])
        await channels.send("import os; os._exit(3)")
        await asyncio.sleep(begin + wait - time.monotonic())
        status, text, _ = await act("DELETE", f"/api/kernels/{model['id']}")
        assert status == 204, (wait, status, text)
    assert len(ask("GET", "/api/kernels")[1]) == 1
""")
prints("2", 2)
PY
}

# unread PIECES - of 64 KiB, for a client that stops reading.
unread()
{
    PIECES=$1 talk "${with_gateway[@]}" <<'PY'
prints("x = 1", "")
pieces = int(os.environ["PIECES"])
sizes = json.loads(there("""
    import os
    from pathlib import Path
    ask("GET", "/api")
    words = {p.name: (p / "cmdline").read_bytes().split(b"\\0") for p in Path("/proc").iterdir() if p.name.isdigit()}
    [gateway] = [pid for pid in words if b"ipybox_gateway" in words[pid] and b"shim" not in words[pid]]
    def size(name):
        lines = Path(f"/proc/{gateway}/status").read_text().splitlines()
        return next(int(line.split()[1]) >> 10 for line in lines if name in line)
    progress = Path("/tmp/progress")
    def printed():
        return progress.stat().st_size if progress.exists() else 0
    channels = await Channels.open(session_kernel())
    await channels.run("pass")
    before = size("VmRSS")
    cell = await channels.send('''
        with open("/tmp/progress", "wb", buffering=0) as progress:
            for i in range(PIECES):
                print(f"{i:08}".ljust(1 << 16, "x"), end="")
                progress.write(b".")
    ''')
    count, since = 0, time.monotonic()
    while not count or time.monotonic() - since < STILL:
        await asyncio.sleep(0.1)
        if printed() != count:
            count, since = printed(), time.monotonic()
    assert count < 512, f"{count} pieces of 64 KiB were printed for a client that does not read"
    text = await channels.finish(cell)
    assert len(text) == PIECES << 16
    assert all(text.startswith(f"{i:08}x", i << 16) for i in range(PIECES))
    print(json.dumps([count, before, size("VmHWM")]))
""".replace("PIECES", str(pieces)).replace("STILL", "1.5")))
note("{} pieces of {} were printed while nobody read; the gateway had {} MiB, at most {} MiB".format(sizes[0], pieces, *sizes[1:]))
if "MORE" in os.environ: below(sizes[2], sizes[1] + int(os.environ["MORE"]))
prints("x", 1)
PY
}

@test "a client that stops reading slows the kernel down, and gets every byte" {
    unread 800
}

# bats test_tags=measure
@test "a client that stops reading 200 MB costs the gateway little" {
    MORE=64 unread 3200
}

@test "a gateway that is killed is started again, and its kernels are still there" {
    talk "${with_gateway[@]}" <<'PY'
prints("x = 1; x", 1)
id = there("""
    id = (await act("POST", "/api/kernels"))[1]["id"]
    await (await Channels.open(id)).run("z = 'kept'")
    print(id)
""")
[gateway] = gateways()
kill(gateway)
wait_for("its end", lambda: not gateways())
equal(there(f"""
    while (answer := ask("GET", "/api/kernels"))[0] != 200:
        await asyncio.sleep(0.1)
    assert len(answer[1]) == 2, answer
    print(await (await Channels.open("{id}")).run("print(z)"))
    assert (await act("DELETE", "/api/kernels/{id}"))[0] == 204
    assert len(ask("GET", "/api/kernels")[1]) == 1
"""), "kept")
prints("x", 1)
PY
}

@test "a gateway that nobody uses is stopped, and starts again when it is wanted" {
    talk -e IPYBOX_GATEWAY_IDLE=1 "${with_gateway[@]}" <<'PY'
prints("1", 1)
matches(there("print(ask('GET', '/api'))"), "200")
wait_for_log("unused: the kernel gateway stops until the next connection")
wait_for("its end", lambda: not gateways())
matches(there("print(ask('GET', '/api'))"), "200")
PY
}

@test "with a token nobody comes in without it, by HTTP or WebSocket" {
    talk -e IPYBOX_KERNEL_GATEWAY_TOKEN=sesame "${with_gateway[@]}" <<'PY'
prints("1", 1)
equal(there("print(ask('GET', '/api/kernels')[0], ask('POST', '/api/kernels')[0])"), "401 401")
id = there("print(session_kernel())", token="sesame")
equal(there(f"print(await (await Channels.open('{id}')).run('print(7)'))", token="sesame"), "7")
equal(there(f"""
    try:
        await Channels.open("{id}")
    except Exception as error:
        print(getattr(error, "code", error))
"""), "401")
equal(there(f"print(await (await Channels.open('{id}')).run('import os; print([k for k in os.environ if \"KG\" in k])'))", token="sesame"), "[]")
PY
}

# bats test_tags=all
@test "the KernelClient of ipybox 0.9.2 finds what it knows, and loses nothing of what 2,000 cells print" {
    venv=$("$here/../../../third_party/venv" "$here/../../../bench/requirements-peer.txt")
    hold_port
    cat > "$BATS_TEST_TMPDIR/client.py" <<'PY'
import asyncio, sys
from ipybox.kernel_mgr.client import ExecutionError, ExecutionResult, KernelClient

async def fails(client: KernelClient, code: str, *texts: str) -> None:
    try:
        result = await client.execute(code)
    except ExecutionError as error:
        assert all(text in str(error) for text in texts), error
    else:
        raise AssertionError(f"{code} gave {result}")

async def times_out(client: KernelClient, code: str) -> None:
    try:
        result = await client.execute(code, timeout=5)
    except asyncio.TimeoutError:
        return
    raise AssertionError(f"{code} gave {result}")

async def behaviours(port: int) -> None:
    """What that client's own tests ask of a gateway."""
    async with KernelClient(host="localhost", port=port) as one, KernelClient(host="localhost", port=port) as two:
        assert (await one.execute("x = 5\ny = 10\nx + y")).text == "15"
        assert (await one.execute("x = 42")).text is None
        await fails(two, "print(x)", "NameError")
        await fails(one, "def foo(): return 1 / 0\nfoo()", "ZeroDivisionError", "foo")
        await fails(one, "print('missing)", "SyntaxError")
        items = [item async for item in one.stream("import time; print('a'); time.sleep(3); print('b')")]
        assert "".join(items[:-1]) == "a\nb\n" and len(items) > 2 and items[0].strip() == "a", items
        assert isinstance(items[-1], ExecutionResult) and items[-1].text == "a\nb", items
        assert (await one.execute("print('a' * 500000)")).text == "a" * 500_000
        assert (await one.execute("print('a\\n' * 50000)")).text == ("a\n" * 50_000).strip()
        assert (await one.execute("len('" + "a" * 500_000 + "')")).text == "500000"
        await times_out(one, "import time; time.sleep(60)")
        await times_out(one, "while True: kept = 7")
        assert (await one.execute("print(kept)")).text == "7"
        await one.reset()
        await fails(one, "print(kept)", "NameError")
        assert (await one.execute("import os; os.environ['FROM_OUTSIDE']")).text == "'yes'"

async def main(port: int, cells: int) -> None:
    await behaviours(port)
    async with KernelClient(host="localhost", port=port) as client:
        await client.execute("1")
        lost = 0
        for i in range(cells):
            result = await client.execute(f"print('cell', {i})")
            lost += (result.text or "").strip() != f"cell {i}"
        print(f"{lost} of {cells} lost")

asyncio.run(main(int(sys.argv[1]), 2000))
PY
    start_box -i --network host -e KERNEL_ENV_FROM_OUTSIDE=yes -- --kernel-gateway-port "$port"
    output=$(wait_for log_has 'serves MCP' && limit=$whole limited "$venv/bin/python" "$BATS_TEST_TMPDIR/client.py" "$port")
    note "KernelClient 0.9.2: $output"
    assert_match "$output" '^0 of 2000 lost'
    limited docker rm -f "$id" >/dev/null
}
