# What a cell prints and displays, as text and as files.
load lib/helpers

@test "the text is all that was printed and shown, in order, without line breaks at its ends" {
    drive <<'PY'
        prints("", "")
        prints("pass", "")
        prints("None", "")
        prints("print()", "")
        prints("print('a'); print('b'); 'c'", "a\nb\n'c'")
        prints("print('  a  ')", "  a  ")
        prints("print('a', end=''); 'b'", "a\n'b'")
        prints("print('\\n\\n a\\n b \\n\\n')", " a\n b ")
        prints("1;", "")
        prints("import sys; print('out'); print('err', file=sys.stderr); print('out')", "out\nerr\nout")
        prints("display(1); print(2); display('three'); 4", "1\n2\n'three'\n4")
        prints("class A:\n  def __repr__(self): return 'shown'\nA()", "shown")
        prints("print('tab\\there')", "tab\there")
        prints("[1,\n2]", "[1, 2]")
        prints("print('é', '漢', '🐍', '\\u0301')", "é 漢 🐍 \u0301")
        equal(runs("!printf 'one\\ntwo\\n'").text.splitlines(), ["one", "two"])
PY
}

@test "one answer has one text block when there is nothing more to say" {
    drive <<'PY'
        for code in "", "1", "print(1)", SHOW_PNG:
            equal([block["type"] for block in runs(code).blocks], ["text"])
PY
}

@test "a progress bar comes in its last state" {
    drive <<'PY'
        prints("for i in range(101): print(f'\\r{i}%', end='')\nprint(' done')", "100% done")
        prints("print('abc\\rX')", "Xbc")
        prints("print('12\\b3')", "13")
PY
}

@test "rich's progress bar comes in its last state" {
    drive <<'PY'
        # pip has one in it; in a notebook it wants widgets
        answer = runs("""
            import sys, time
            from pip._vendor.rich.console import Console
            from pip._vendor.rich.progress import track
            for terminal in False, True:
                console = Console(file=sys.stdout, width=60, color_system=None, force_jupyter=False, force_terminal=terminal)
                for step in track(range(50), f"terminal={terminal}", console=console, refresh_per_second=50):
                    time.sleep(0.005)
        """)
        equal(re.sub(" +.*? 100% .*", " 100%", answer.text), "terminal=False 100%\nterminal=True 100%")
PY
}

@test "clear_output and updated displays come in their last state" {
    drive <<'PY'
        prints("from IPython.display import clear_output; print('old'); clear_output(); print('new')", "new")
        prints("print('old'); clear_output(wait=True); print('new')", "new")
        prints("h = display('first', display_id=True); print('between'); h.update('second')", "'second'\nbetween")
PY
}

# show MIME DATA: the display; saved TEXT FOLDER EXTENSION: the path that the text links to, which must be all there is.
saving='
def show(mime, data):
    return f"display({{{mime!r}: {data!r}}}, raw=True)"
def saved(text, folder, kind, title):
    size = "" if title == "images" else r" [a-z/]+, \d+ bytes"
    found = matches(text, rf"\A\n\nGenerated {title}:\n\n- \[([0-9a-f]{{8}})\]\((/app/workspace/{folder}/([0-9a-f]{{8}})\.{kind})\){size}\n\Z")
    equal(found[1], found[3])
    return found[2]
'

@test "a PNG is saved and linked in the text, in the form that clients know" {
    {
        echo "$saving"
        cat <<'PY'
path = saved(runs(SHOW_PNG).text, "images", "png", "images")
prints(f"import base64; base64.b64encode(open('{path}', 'rb').read()) == b'{PNG}'", True)
text = runs(f"print('before')\n{SHOW_PNG}\n{SHOW_PNG}\nprint('after')").text
matches(text, r"\Abefore\nafter\n\nGenerated images:\n\n- \[[0-9a-f]{8}\]\(/app/workspace/images/[0-9a-f]{8}\.png\)\n"
              r"- \[[0-9a-f]{8}\]\(/app/workspace/images/[0-9a-f]{8}\.png\)\n\Z")
prints("import os; len(os.listdir('images'))", 3)
text = runs("display({'text/plain': 'a figure', 'image/png': '" + PNG + "'}, raw=True)").text
matches(text, r"\Aa figure\n\nGenerated images:\n\n- ")
PY
    } | drive
}

@test "images are saved before an error and linked all the same" {
    drive <<'PY'
        answer = fails(f"print('printed')\n{SHOW_PNG}\n1 / 0", "ZeroDivisionError")
        matches(answer.rest, r"printed\n\nGenerated images:\n\n- \[")
PY
}

@test "other images are saved with their own ending, other displays as files" {
    {
        echo "$saving"
        cat <<'PY'
for mime, kind, begins in (("image/jpeg", "jpg", "/9j/"), ("image/gif", "gif", "R0lGODlh"),
                           ("image/webp", "webp", "UklGRnh4"), ("image/bmp", "bmp", "Qk14")):
    path = saved(runs(show(mime, begins + "Ynl0ZXM=")).text, "images", kind, "images")
    prints(f"open('{path}', 'rb').read()[-5:]", "b'bytes'")
path = saved(runs(show("image/svg+xml", "<svg>é</svg>")).text, "images", "svg", "images")
prints(f"open('{path}').read()", "'<svg>é</svg>'")
path = saved(runs(show("text/html", "<b>é</b>")).text, "outputs", "html", "files")
prints(f"open('{path}').read()", "'<b>é</b>'")
path = saved(runs("display({'application/vnd.vegalite.v6+json': {'a': [1]}}, raw=True)").text, "outputs", "json", "files")
prints(f"import json; json.load(open('{path}'))", "{'a': [1]}")
prints("display({'application/json': {'a': [1]}}, raw=True)", '{"a":[1]}')
prints("display({'text/markdown': '# title'}, raw=True)", "# title")
path = saved(runs(show("application/pdf", "JVBERg==")).text, "outputs", "pdf", "files")
prints(f"open('{path}').read()", "'%PDF'")
prints("display({'text/plain': 'a table', 'text/html': '<table/>'}, raw=True)", "a table")
PY
    } | drive
}

@test "an image that is none is told in the text, and the cell has run" {
    drive <<'PY'
        matches(runs("display({'image/png': 'not base64!'}, raw=True); print('on')").text, r"image/png was displayed but could not be saved.*on")
        matches(runs("from IPython.display import Image\nImage(data=b'x', format='png')").text, r"could not be saved: its data are no png\]\Z")
PY
}

@test "images come as blocks only when the call asks for them" {
    drive <<'PY'
        code = f"print('text')\n{SHOW_PNG}\n" + "display({'image/svg+xml': '<svg/>', 'text/plain': 'p'}, raw=True)"
        equal(len(runs(code).blocks), 1)
        answer = runs(code, include_images=True)
        equal(answer.text, answer.text.strip("\n") + "\n")
        images = [block for block in answer.blocks if block["type"] == "image"]
        equal(images[0], {"type": "image", "data": PNG, "mimeType": "image/png"})
        equal([image["mimeType"] for image in images], ["image/png", "image/svg+xml"])
PY
}

@test "output over the limit is cut there, with the notice that clients know, and a file has all of it" {
    workspace 1234:5678
    drive -v "$workspace:/app/workspace" <<'PY'
        prints("print('x' * 5000)", "x" * 5000)
        prints("print('x' * 10)", "x" * 10, max_output_chars=10)
        for code, limit, whole in (  # below 200 characters the beginning alone
            ("for i in range(10000): print(i)", 100, "\n".join(map(str, range(10000)))),
            ("'é漢🐍' * 100", 50, repr("é漢🐍" * 100)),
            ("print('abc')", 0, "abc"),
            ("print('  abc' + ' ' * 100 + 'd   ')", 4, "  abc" + " " * 100 + "d   "),
        ):
            text = runs(code, max_output_chars=limit).text
            head, notice = text[:limit], text[limit:]
            equal(head, whole[:limit])
            lines = notice.split("\n")
            equal(lines[:3], ["", "", f"[Output truncated: exceeded {limit} character limit]"])
            found = matches(lines[3], rf"\A\[The whole output, {len(whole)} characters, is in (/app/workspace/outputs/[0-9a-f]{{8}}\.txt)\]\Z")
            equal(inside("cat", found[1]).strip("\n"), whole)
            equal(len(lines), 4)
        prints("import os; len(os.listdir('outputs'))", 4)
        text = runs("print('x' * 6000 + 'end')").text
        matches(text, r"\Ax+\n\[… \d+ characters are left out here …\]\nx+end\n\n\[Output truncated: exceeded 5000 character limit\]\n"
                      r"\[The whole output, 6003 characters, is in /app/workspace/outputs/\w{8}\.txt\]\Z")
        below(len(text), 5200)
PY
}

# bats test_tags=all
@test "100 MB of output cost the server no memory, and the file has every byte" {
    drive <<'PY'
        def check(code, size):
            start = time.monotonic()
            text = runs(code, max_output_chars=10).text
            note(f"{code[:40]}: {time.monotonic() - start:.1f} s, peak of the server {server().peak >> 20} MiB")
            below(server().peak, 64 << 20)
            path = matches(text, r"is in (/app/workspace/outputs/\S+\.txt)\]\Z")[1]
            equal(inside("stat", "-c", "%s", path).strip(), str(size))
            return path
        check("print('z' * 100_000_000, end='')", 100_000_000)
        path = check("for i in range(1_000_000): print(f'{i:0100}')", 101_000_000)
        equal(inside("sh", "-c", f"sort -c {path} && wc -l < {path}").strip(), "1000000")
        prints("1", 1)
PY
}

@test "100 MB through a file descriptor are all there" {
    drive <<'PY'
        text = runs("!head -c 20000000 /dev/zero | tr '\\\\0' 'x'; echo", max_output_chars=10).text
        matches(text, "20000000 characters")
        text = runs("import subprocess; _ = subprocess.run('yes é | head -c 30000000', shell=True)", max_output_chars=10).text
        matches(text, "19999999 characters")
        below(server().peak, 64 << 20)
PY
}

@test "a flood of small writes and of displays is complete" {
    drive <<'PY'
        text = runs("for i in range(100_000): print(i)", max_output_chars=1_000_000).text
        equal(text, "\n".join(map(str, range(100_000))))
        text = runs("for i in range(3_000): display(i)", max_output_chars=1_000_000).text
        equal(text, "\n".join(map(str, range(3_000))))
        text = runs("import os\nfor i in range(20_000): _ = os.write(1 + i % 2, b'%d\\n' % i) if i % 3 else print(f'{i}\\n', end='')", max_output_chars=1_000_000).text
        equal(sorted(map(int, text.split())), list(range(20_000)))
        below(server().peak, 64 << 20)
PY
}

@test "UTF-8 is never broken, wherever the text is cut" {
    drive <<'PY'
        import random
        chance = random.Random(7)
        alphabet = "aé漢🐍\u0301\U0010ffff\u07ff\u0800\uffff"
        text = "".join(chance.choice(alphabet) for _ in range(60)) + "."
        for limit in range(len(text)):
            equal(runs(f"print({ascii(text)})", max_output_chars=limit).text[:limit + 2], text[:limit] + "\n\n")
        # Written in pieces that end in the middle of characters.
        for size in 1, 2, 3, 5, 7:
            prints(f"import os, time; data = {ascii(text)}.encode()\n"
                   f"for i in range(0, len(data), {size}): _ = os.write(1, data[i:i + {size}]); time.sleep(0.001)", text)
        big = "aé漢🐍" * 50_000
        equal(runs("import os\ndata = ('aé漢🐍' * 50_000).encode()\nwhile data: data = data[os.write(1, data[:1021]):]", max_output_chars=1_000_000).text, big)
PY
}

@test "bytes that are no text come through as something that is" {
    drive <<'PY'
        prints("print('a\\0b')", "a\0b")
        prints("print('\\ud800x')", "\\ud800x")
        prints("import os; _ = os.write(1, b'a\\xff\\xfeb\\xc3c')", "a\ufffd\ufffdb\ufffdc")
        prints("'\\ud83d'", "'\\ud83d'")
        prints("print('\\x01\\x7f\\u2028|')", "\x01\x7f\u2028|")
        fails("raise ValueError('\\ud800 \\0 \\x1b[31m')", "ValueError")
        prints("1", 1)
PY
}

@test "a workspace that is read-only: what could not be saved is said, and the cell has run" {
    workspace 1234:5678
    drive -v "$workspace:/app/workspace:ro" <<'PY'
        matches(runs("print('x' * 6000)").text, r"\[Output truncated: exceeded 5000 character limit\]\n\[The rest of 6000 characters could not be saved: .*Read-only file system")
        matches(runs(SHOW_PNG + "; print('on')").text, r"image/png was displayed but could not be saved: .*Read-only file system.*on")
        prints("1", 1)
PY
}

@test "a full disk is said, the file that is named has what fitted, and the server lives" {
    drive --tmpfs /app/workspace:size=2m,mode=1777 <<'PY'
        text = runs("print('x' * 10_000_000)", max_output_chars=100).text
        found = matches(text, r"\[The beginning of the output, 10000000 characters in all, is in (\S+): the rest is lost after (\d+) bytes: No space left on device\]")
        equal(inside("stat", "-c", "%s", found[1]).strip(), found[2])
        below(1_000_000, int(found[2]))
        matches(runs("print('x' * 10_000)").text, r"\[The rest of 10000 characters could not be saved: .*No space left on device\]\Z")
        matches(runs(SHOW_PNG).text, "image/png was displayed but could not be saved: .*No space left on device")
        wait_for("health", healthy)
        inside("sh", "-c", "rm -r /app/workspace/outputs")
        matches(runs(SHOW_PNG).text, "Generated images")
PY
}

@test "the limit of an output file is kept, and said" {
    drive -e IPYBOX_OUTPUT_FILE_LIMIT=1M <<'PY'
        text = runs("print('é' * 1_000_000)", max_output_chars=10).text
        path = matches(text, r"1000000 characters in all, is in (\S+): the rest is lost after 1048576 bytes: the limit of an output file\]")[1]
        equal(inside("stat", "-c", "%s", path).strip(), "1048576")
PY
}

@test "links that a cell lays do not lead the server out of the workspace" {
    drive <<'PY'
        prints("import os; os.mkdir('/tmp/elsewhere'); os.symlink('/tmp/elsewhere', 'images'); os.symlink('/tmp/elsewhere', 'outputs')", "")
        matches(runs(SHOW_PNG).text, "could not be saved")
        matches(runs("print('x' * 6000)").text, "could not be saved")
        prints("os.listdir('/tmp/elsewhere')", "[]")
PY
}

@test "with --keep-files the oldest of the saved files go, and the answer says so" {
    drive -- --keep-files 2 <<'PY'
runs("open('images.txt', 'w').close()")
draw = "from IPython.display import SVG; SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')"
first, second, third = (runs(draw) for _ in range(3))
equal(len(second.texts), 1)
matches(third.texts[1], "^.ipybox. 1 of the oldest files in images/ and outputs/ .* were deleted")
prints("import os; len(os.listdir('images')), os.path.exists('images.txt')", (2, True))
PY
}
