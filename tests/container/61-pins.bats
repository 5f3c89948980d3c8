# Nothing that is installed keeps kernels, their template or the gateway from starting: lib/pins.txt. IPYBOX_CA: as in 60-packages.
# bats file_tags=all
load lib/helpers

# on_base [OPTION]... [-- WORD]... <<'PY' - as drive, on the user base of this test.
on_base()
{
    local ca=()
    if [ -n "${IPYBOX_CA:-}" ]; then ca=(-v "$IPYBOX_CA:/ca.pem:ro" -e IPYBOX_CA=/ca.pem); fi
    if [ -z "${workspace:-}" ]; then workspace 1234:5678; fi
    drive "${ca[@]}" -v "$workspace:/app/workspace" -e PYTHONUSERBASE=/app/workspace/packages "$@"
}

# what_works - the script that each kernel must pass.
what_works()
{
    cat <<'PY'
prints("print(42)", 42)
fails("1 / 0", "ZeroDivisionError.*line 1")
fails("def broken(:", "SyntaxError")
prints("!echo hello", "hello")
prints("x = !echo line\nx", ["line"])
prints("await __import__('asyncio').sleep(0); 42", 42)
prints("import ipykernel, IPython, traitlets, zmq", "")    # what is loaded, and what a kernel may load late
prints("import jedi, ipykernel.inprocess, jupyter_client.manager, tornado.web, prompt_toolkit.application", "")
prints("{m.__file__[:10] for m in (ipykernel, IPython, traitlets, zmq, jedi, jupyter_client, tornado, prompt_toolkit)}", {"/usr/local"})
matches(runs("print.__doc__?").text, "(?i)print")
PY
}

# kernels_start_with GROUP - installs it; cells of this container, of later ones and of the gateway run.
kernels_start_with()
{
    local pins
    pins=$(sed -n "s/^$1 \+//p" "$here/pins.txt" | tr '\n' ' ')
    { cat <<PY; what_works; } | on_base
runs("!pip install -q --no-input --no-deps --no-warn-script-location $pins", timeout=WAIT)
listed = runs("import importlib.metadata as m; places = ['/app/workspace/packages/lib/python3.13/site-packages'];"
              "print(*(f'{d.name}=={d.version}' for d in m.distributions(path=places)))").text
plain = lambda text: set(text.lower().replace("_", "-").replace(".", "-").split())
equal(plain("$pins") - plain(listed), set())
tool("reset")
PY
    { what_works; echo 'tool("reset")'; what_works; } | on_base --env IPYBOX_NO_KERNEL_TEMPLATE=1
    { what_works; cat <<PY; } | on_base -- --kernel-gateway-port 8888
CLIENT = Path("$here/gateway_client.py").read_text()
ask = lambda: inside("python3", "-I", "-", "8888", "", "print(40 + 2)", stdin=CLIENT, user="1234", check=False)
wait_for("the gateway", lambda: ask() == "42\n")
PY
}

@test "the oldest versions of all that a kernel and the gateway are made of are installed, and kernels start" {
    kernels_start_with old
}

@test "later versions and other kernels' packages are installed, and kernels start" {
    kernels_start_with middle
}

@test "a package that asks for another kernel brings it along, and programs find it" {
    { cat <<'PY'; what_works; } | on_base
answer = tool("install_package", package_name="spyder-kernels==3.0.5")
equal(answer.error, False)
tool("reset")
matches(runs("!python3 -c 'import ipykernel; print(ipykernel.__version__)'").text, r"^6\.")
PY
    what_works | on_base
}
