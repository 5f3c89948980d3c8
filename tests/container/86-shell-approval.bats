# Shell commands in cells that ask first, and kernels that cannot start a program in another way (docs/shell-approval.md).
load lib/helpers

yes='
def decide(action="accept"):
    """Answers the question that is open; returns what the human was shown."""
    request = asked("elicitation/create")
    name, field = next(iter(request["params"]["requestedSchema"]["properties"].items()))
    choices = field.get("enum") or [c["const"] for c in field["oneOf"]]
    reply(request, {"action": action, **({"content": {name: choices[0]}} if action == "accept" else {})})
    return request["params"]["message"]
greet(elicitation={})
'

@test "shell commands of every form ask before they run, and a refusal is an exception" {
    { echo "$yes"; cat <<'PY'; } | drive -- --approve-shell-cmds
for code, shown, text in [
    ("word = 'two'\n!echo one {word}", "echo one two", "one two"),
    ("lines = !printf 'a\\nb\\n'\nprint(list(lines))", "printf", "['a', 'b']"),
    ("%%bash\necho from bash", "echo from bash", "from bash"),
    ("%%sh\necho from sh", "echo from sh", "from sh"),
]:
    call = start_cell(code)
    matches(decide(), shown)
    equal(finish(call).text, text)
call = start_cell("!touch refused")
decide("decline")
matches(finish(call).text, "ApprovalRejectedError")
prints("import os; print(os.path.exists('refused'))", False)
prints("import subprocess; print(subprocess.check_output(['echo', 'unasked']).decode())", "unasked")
PY
}

@test "with --require-shell-escape nothing but an approved command starts a program" {
    { echo "$yes"; cat <<'PY'; } | drive -- --approve-shell-cmds --require-shell-escape
call = start_cell("!echo asked; pwd")
matches(decide(), "echo asked")
equal(finish(call).text, "asked\n/app/workspace")
for code in ["import subprocess; subprocess.run(['true'])", "import os; os.system('touch marked')",
             "import os; os.execv('/bin/true', ['true'])", "import os; os.posix_spawn('/bin/true', ['true'], {})",
             "import pty; pty.spawn('true')"]:
    fails(code, "Direct .* calls are not allowed. Use ! syntax")
# Below Python, too: the functions of the C library, in a thread, in a fork, and with Python's own undone.
prints("""
    import ctypes, errno, os, threading, warnings
    warnings.simplefilter('ignore')
    libc = ctypes.CDLL(None, use_errno=True)
    seen = []
    def attempt():
        argv = (ctypes.c_char_p * 2)(b"true", None)
        libc.execv(b"/bin/true", argv)
        seen.append(errno.errorcode[ctypes.get_errno()])
    attempt()
    thread = threading.Thread(target=attempt); thread.start(); thread.join()
    if (child := os.fork()) == 0:
        attempt()
        os._exit(7 if seen[-1] == "EPERM" else 8)
    seen.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(seen, libc.system(b"touch marked") != 0)""", "['EPERM', 'EPERM', 7] True")
tool("reset")
fails("import subprocess; subprocess.run(['true'])", "Direct subprocess calls are not allowed")
prints("import os; print(os.path.exists('marked'))", False)
PY
}

@test "--require-shell-escape alone is refused, and nobody to ask means that nothing runs" {
    run_box -- --require-shell-escape </dev/null
    assert_equal "$status" 2
    assert_match "$errors" "needs --approve-shell-cmds"
    drive -- --approve-shell-cmds <<'PY'
        fails("!touch marked", "Approval channel not connected")
        prints("import os; print(os.path.exists('marked'))", False)
PY
}
