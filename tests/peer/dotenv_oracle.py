#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares wire/dotenv with python-dotenv: dotenv_oracle.py DOTENV_DUMP [GENERATED_CASES]

Each case is a file that load_dotenv() really loads; the names it then finds in the environment
must be those that dotenv_dump prints. Where load_dotenv() raises half-way (a NUL, a `=` in a
name) the rest must still be what its parser read. Prints TAP.
"""

from __future__ import annotations

import io
import logging
import os
import random
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import dotenv
from dotenv.main import DotEnv

PINNED = "1.2.4"
ENVIRONMENT = {"HOME": "/home/u", "EMPTY": "", "SET": "from the environment", "ÄÖ": "ü", "D": "$A"}

HAND_PICKED = [
    "",
    "\n",
    "A=1",
    "A=1\n",
    "A=1\r\nB=2\r\n",
    "A=1\rB=2\r",
    "A=1\n\rB=2",
    "\ufeffA=1\n",
    "\ufeff\ufeffA=1\n",
    "A=1\n\ufeffB=2\n",
    " A=1",
    "\t\n\n  A  =  1  \n\n",
    "A",
    "A\nB=1",
    "A=1\nA",
    "A\nA=1",
    "A=1\nA=2",
    "A=1\nB=x\nA=2",
    "export A=1",
    "export\tA=1",
    "export  A = 1",
    "export",
    "export=1",
    "export =1",
    "export A",
    "exportA=1",
    "export\nA=1",
    "export export A=1",
    "export 'A'=1",
    "export # c",
    "# A=1",
    "  # A=1\nB=2",
    "#",
    "A=#1",
    "A= #1",
    "A=  # c",
    "A=1#c",
    "A=1 #c",
    "A=1 # c # d",
    "A=1\t#c",
    "A=1 c #",
    "A=1 # c\nB=2",
    "A=a b c",
    "A=  a b  ",
    "A=\u00a0x\u00a0",
    "A=x\u00a0#c",
    "A\u00a0=1",
    "\u2003A=1",
    "A=x\u2028y",
    "A=x\x0b#c",
    "A=\x0cx\x1c",
    "A=x\x1fy\x1f",
    "A=x\x85#\x85",
    "A=",
    "A= ",
    "A=\nB=1",
    "A= \nB=1",
    "=1",
    "=",
    "==",
    " = 1\nB=2",
    "A==1",
    "A=b=c",
    "A B=1",
    "A B",
    "A#B=1",
    "A #B=1",
    "A'B=1",
    "A.B-C/D=1",
    "Ä=ö",
    "A\\=1",
    "'A'=1",
    "'A B'=1",
    "'A=B'=1\nC=2",
    "'A\nB'=1\nC=2",
    "''=1\nB=2",
    "'A=1\nB=2",
    "'A' = 'b'",
    '"A"=1',
    "'A'x=1",
    "'A\\'=1",
    "A=''",
    'A=""',
    "A='x'",
    'A="x"',
    "A='x' ",
    "A='x' # c",
    "A='x'# c",
    "A='x'y",
    "A='x' y\nB=1",
    'A="x" "y"',
    'A="x""y"',
    "A=x'y'",
    'A=x"y"',
    "A='x\ny'",
    'A="x\ny"\nB=1',
    'A="x\r\ny\rz"',
    "A='x\ny'z\nB=1",
    "A='x",
    "A='x\nB=1",
    'A="x\nB=1\nC=2',
    'A="x\nB="y"\nC=1',
    "A='x\\",
    "A='x\\'",
    'A="x\\"',
    "A='x\\'y'",
    "A='x\\\\'",
    "A='x\\\\\\'y'",
    "A='\\n\\t\\\"\\a'",
    'A="\\n\\t\\r\\a\\b\\f\\v\\\\\\"\\\'"',
    'A="\\\\n"',
    'A="\\\\\\n"',
    'A="\\x41\\u0041\\101\\d\\ \\$\\{"',
    'A="a\\\nb"',
    "A='a\\\nb'",
    'A="ä\\ä\\"ö"',
    'A="#x" #y',
    "A='#x'#y",
    "A='a # b'",
    "A=a\\nb",
    "A=a\\",
    "A=\\",
    "A=`x`",
    "A=$(x)",
    "A=$HOME",
    "A=${HOME}",
    "A='${HOME}'",
    'A="${HOME}"',
    'A="\\${HOME}"',
    "A=\\${HOME}",
    "A=$${HOME}",
    "A=${HOME",
    "A=${HOME}}",
    "A=${}",
    "A=${:-x}",
    "A=${ HOME }",
    "A=x${SET}y${HOME}z",
    "A=${NOPE}",
    "A=${NOPE:-d}",
    "A=${NOPE:-}",
    "A=${NOPE:-a b}",
    "A=${NOPE:-a #b}",
    "A='${NOPE:-a #b}'",
    "A=${NOPE:-${SET}}",
    "A=${NOPE:-a:b}",
    "A=${NOPE:-:-}",
    "A=${NOPE-d}",
    "A=${NOPE:d}",
    "A=${NOPE:d}${SET}",
    "A=${NOPE:=d}",
    "A=${NOPE:?d}",
    "A=${NOPE:${SET}}",
    "A=${A${SET}}",
    "A=${${SET}}",
    "A=${EMPTY:-d}",
    "A=${EMPTY}x",
    "A=${SET:-d}",
    "A=1\nB=${A}",
    "B=${A}\nA=1",
    "A=1\nA=${A}2\nA=${A}3",
    "A\nB=${A:-d}",
    "A=\nB=${A:-d}",
    "A=1\nB=${A}\nA=2\nC=${B}${A}",
    "SET=file\nB=${SET}",
    "SET=file",
    "EMPTY=file",
    "D=1\nB=${D}",
    "A='${B}'\nB=${A}\nC=${B}",
    "A=${ÄÖ}ß",
    "A='${X\nY:-z\nw}'",
    'A="${NOPE:-\\"}"',
    'A="${NOPE:-\\}}"',
    "A=${NOPE:-\n}",
    "A=${:-}${:}${}$",
    "A=$",
    "A=$$",
    "A=${",
    "A=${:-",
    "A=}{$",
    "A=1;B=2",
    "A=1 B=2",
    "A=1 export B=2",
    "A: 1",
    "- A=1",
    "[x]\nA=1",
    "A=\U0001f600",
    "\U0001f600=1",
    "A=1\n\n\nbad line here\n\nB=2\n",
    "A=1\nx y z",
    "A\x00B=1\nC=2",
    "A=1\x002\nC=2",
    "A=x\x00\nB=${A}\nC=2",
    "A=${x\x00:-d}\n",
    "\x00",
    "#\x00\nA=1",
    "'A=B'=1\nC=${A=B}",
]

INVALID_UTF8 = [b"A=\xff", b"A=1\n#\xc3", b"\xc0\x80=1", b"A=\xed\xa0\x80", b"\xff\xfeA\x00"]

PIECES = [
    *'ABC==\'""#\n\n\\$ {}:-x',
    *("\r\n", "\r", "export ", "${A}", "${B:-", "${SET}", "}", "\\n", "\\'", '\\"', "\\\\"),
    *(" #", "A=", "\nB=", "='", '="', "'\n", '"\n', "\t", "\u00a0", "é", "\u2028", "\x0b", "\x00"),
]


def generated(count: int) -> list[str]:
    rng = random.Random(20261121)
    cases = []
    for _ in range(count):
        parts = [rng.choice(PIECES) for _ in range(rng.randint(1, 24))]
        cases.append("".join(parts) if rng.random() < 0.5 else "A=" + "".join(parts))
    return cases


def settable(text: str) -> bool:
    return "\0" not in text


def expected(case: bytes, folder: Path) -> tuple[str, dict[str, str], int]:
    """What load_dotenv() leaves behind: the end, the variables and how many warnings."""
    file = folder / ".env"
    file.write_bytes(case)
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logger = logging.getLogger("dotenv.main")
    logger.addHandler(handler)
    skipped = 0
    try:
        dotenv.load_dotenv(file)
        now = dict(os.environ)
    except UnicodeDecodeError:
        return "EILSEQ", {}, 0
    except ValueError:
        log.truncate(0)
        read = DotEnv(file, encoding="utf-8", override=False)
        os.environ.clear()
        os.environ.update(ENVIRONMENT)
        now = dict(ENVIRONMENT)
        for name, value in read.dict().items():
            if value is None:
                continue
            if settable(name) and "=" not in name and settable(value):
                now.setdefault(name, value)
            else:
                skipped += 1
    finally:
        logger.removeHandler(handler)
    news = {name: value for name, value in now.items() if ENVIRONMENT.get(name) != value}
    return "0", news, log.getvalue().count("could not parse") + skipped


def dumped(dump: str, cases: list[bytes]) -> list[tuple[str, dict[str, str], int]]:
    stdin = b"".join(b"%d\n%b" % (len(case), case) for case in cases)
    run = subprocess.run([dump], input=stdin, env=ENVIRONMENT, stdout=subprocess.PIPE, check=True)
    results: list[tuple[str, dict[str, str], int]] = []
    variables: dict[str, str] = {}
    warnings = 0
    for line in run.stdout.decode().splitlines():
        word, _, rest = line.partition(" ")
        if word == "set":
            name, _, value = rest.partition(" ")
            variables[bytes.fromhex(name).decode()] = bytes.fromhex(value).decode()
        elif word == "warn":
            warnings += 1
        elif word == "end":
            results.append((rest, variables, warnings))
            variables, warnings = {}, 0
    return results


def main() -> int:
    dump = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1500
    if version("python-dotenv") != PINNED:
        print(f"Bail out! python-dotenv is {version('python-dotenv')}, not {PINNED}")
        return 1
    cases = [text.encode() for text in [*HAND_PICKED, *generated(count)]] + INVALID_UTF8
    results = dumped(dump, cases)
    print(f"1..{len(cases)}")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(cases, 1):
            want = expected(case, Path(folder))
            got = results[number - 1] if number <= len(results) else None
            verdict = "ok" if got == want else "not ok"
            failed += got != want
            print(f"{verdict} {number} - {case.decode(errors='replace')!r}")
            if got != want:
                print(f"# python-dotenv: {want}\n# dotenv_parse:  {got}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
