# What a model reads: answers of bounded size, and nothing rich lost. IPYBOX_CA: as in 60-packages.bats.
load lib/helpers

@test "the worst cells have answers of at most 5,200 characters" {
    drive <<'PY'
        runs("import sys")
        WORST = {
            "recursion": "def f(n): return f(n + 1)\nf(0)",
            "recursion, 50,000 deep": "sys.setrecursionlimit(50_000)\nf(0)",
            "a method's recursion": "sys.setrecursionlimit(1000)\nclass A:\n  def m(self): return self.m()\nA().m()",
            "a repr's recursion": "class R:\n  def __repr__(self): return repr(self)\nR()",
            "a message of 1,000,000": "raise ValueError('m' * 10**6)",
            "a repr of 10,000,000": "class H:\n  def __repr__(self): return 'x' * 10**7\nassert [H()] == 4, H()",
            "a chain of 1,000": "e = None\nfor i in range(1000):\n  try: raise ValueError(i) from e\n  except ValueError as x: e = x\nraise e",
            "runtime": "from ipybox_tools import blocking\nimport json, concurrent.futures as c\nc.ThreadPoolExecutor().submit(json.loads, 'x').result()",
            "pydantic": "import pydantic\nclass M(pydantic.BaseModel):\n  a: list[int]\nM(a=['x'] * 500)",
            "3,000 lines and an error": "for i in range(3000): print('line', i)\n1 / 0",
            "100 displays": "from IPython.display import HTML\nfor i in range(100): display(HTML('<b>1</b>'))",
            "a group": "async def boom(): raise ValueError('m' * 5000)\nimport asyncio\n"
                       "async with asyncio.TaskGroup() as g:\n  for i in range(50): g.create_task(boom())",
        }
        for name, code in WORST.items():
            answer = cell(code)
            below(len("\n".join(answer.texts)), 5201)
            equal(answer.error, name != "100 displays")
            small = cell(code, max_output_chars=1000)
            below(len("\n".join(small.texts)), 1300)
        equal(runs("1").text, "1")
PY
}

@test "an error ends with itself, and a file has what is left out" {
    drive <<'PY'
        text = fails("def f(n): return f(n + 1)\nf(0)", "RecursionError").text
        found = matches(text, r"more: the same frame again\n\nRecursionError: .*\n\[The whole error is in (/app/workspace/outputs/\w+\.txt)\]\Z")
        below(900, inside("cat", found[1]).count("in f\n"))
        text = fails("raise ValueError('first' + 'm' * 10**5 + 'last')", "ValueError: first").text
        found = matches(text, r"mlast\n\[The whole error is in (\S+)\]\Z")
        below(100_000, len(inside("cat", found[1])))
        equal("whole error" in fails("1 / 0", "ZeroDivisionError").text, False)
        answer = fails("for i in range(3000): print('line', i)\n1 / 0", "ZeroDivisionError")
        matches(answer.rest, r"\AOutput before the error:\nline 0\n.*left out here.*line 2999\n\n\[Output truncated")
        matches(fails("x = " + "+".join(["1"] * 50_000), "SyntaxError").text, "nested too deeply for Python")
        text = fails("import json\njson.loads('x')", "JSONDecodeError").text
        matches(text, r"----> 2 json.loads\('x'\)\n\n    … 3 frames of Python: json/__init__\.py:\d+ in loads … json/decoder")
PY
}

@test "of many displays the first links are shown, and a file lists all" {
    drive <<'PY'
        text = runs("from IPython.display import HTML\nfor i in range(100): display(HTML(f'<b>{i}</b>'))").text
        found = matches(text, r"\n- … and (\d+) more files, all of them listed in (\S+)\n\Z")
        equal(text.count("](/app/workspace/outputs/") + int(found[1]), 100)
        equal(inside("cat", found[2]).count("](/app/workspace/outputs/"), 100)
PY
}

@test "cells have numbers, and history shows them" {
    drive <<'PY'
        prints("x = 1", "")
        prints("In[1]", "'x = 1'")
        matches(fails("1 / 0", "ZeroDivisionError").text, r"Cell In\[3\], line 1")
        equal(runs("%history").text.splitlines(), ["x = 1", "In[1]", "1 / 0", "%history"])
        prints("x;", "")
        prints("display(1); x;  # said once", "1")
        tool("reset")
        prints("len(In)", 2)
PY
}

# bats test_tags=all
@test "libraries' displays are text where they can be, and files where they cannot" {
    local ca=()
    if [ -n "${IPYBOX_CA:-}" ]; then ca=(-v "$IPYBOX_CA:/ca.pem:ro" -e IPYBOX_CA=/ca.pem); fi
    drive "${ca[@]}" <<'PY'
        names = "pandas jinja2, altair great_tables polars duckdb pillow tqdm ipywidgets rich"
        answer = tool("install_package", package_name=names)
        equal(answer.error, False)
        below(len(answer.text), 1500)
        matches(answer.text, r"\ASuccessfully installed .*altair-.*\n\[pip's output is in \S+\]\Z")
        def shows(code):
            return runs(code, timeout=WAIT).text
        FILE = r"\n\nGenerated files:\n\n- \[\w{8}\]\(/app/workspace/outputs/\w{8}\.html\) text/html, \d+ bytes\n\Z"
        PICTURE = r"\n\nGenerated images:\n\n- \[\w{8}\]\(/app/workspace/images/\w{8}\.png\)\n\Z"
        shows("import pandas as pd; df = pd.DataFrame({'a': [1, 2], 'b': ['x', 'yy']})")
        frame = "   a   b\n0  1   x\n1  2  yy"
        equal(shows("df"), frame)
        equal(shows("display(df); display(df)"), frame + "\n" + frame)
        matches(shows("df.style"), r"\A   a  b\n0  1  x\n1  2  yy" + FILE)
        matches(shows("from great_tables import GT\nGT(df).tab_header(title='A title')"), r"\AA title\na  b\n1  x\n2  yy" + FILE)
        matches(shows("import altair\naltair.Chart(df).mark_point()"), r"\Aalt.Chart\(\.\.\.\)" + FILE)
        matches(shows("import polars\npolars.DataFrame({'a': [1]})"), r"\Ashape: \(1, 1\)\n┌─.*│ 1   │\n└─.*┘" + FILE)
        matches(shows("import duckdb\nduckdb.sql('select 1 as a')"), r"\A┌─.*│     1 │\n└─.*┘" + FILE)
        matches(shows("from PIL import Image\nImage.new('RGB', (10, 10))"), r"\A<PIL.Image.Image image mode=RGB size=10x10>" + PICTURE)
        matches(shows("import IPython.display as d\nd.HTML('<b/>')"), r"\A<IPython.core.display.HTML object>" + FILE)
        equal(shows("display(d.Markdown('# t')); display(d.Latex('$x$')); display(d.JSON({'a': [1]}))"), '# t\n$x$\n{"a":[1]}')
        matches(shows("import tqdm.auto, tqdm.notebook\nfor _ in tqdm.auto.tqdm(range(50), desc='steps'): pass"),
                r"\Asteps: 100%\|\S+\| 50/50 \[.*\]\Z")
        matches(shows("for _ in tqdm.notebook.tqdm(range(3), desc='outer'):\n"
                      "  for _ in tqdm.notebook.tqdm(range(2), desc='inner', leave=False): pass\nprint('done')"),
                r"\Aouter: 100%\|\S+\| 3/3 \[[^\n]*\]\ndone\Z")
        equal(shows("import ipywidgets\ns = ipywidgets.IntSlider(); display(s); s.value = 42"), "IntSlider(value=42)")
        equal(shows("import rich\nrich.print('[bold red]bold[/] [link=https://x.y]link[/]')"), "bold link")
        text = fails("df['nope']", "KeyError").text
        matches(text, r"\n    … \d+ frames of pandas: pandas/.*\nKeyError: 'nope'\n\[The whole error is in \S+\]\Z")
        equal(text.count("---->"), 1)
        text = fails("import requests\nrequests.get('http://127.0.0.1:9')", "ConnectionError").text
        below(len(text), 2500)
PY
}
