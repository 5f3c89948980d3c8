# SPDX-License-Identifier: Apache-2.0
"""What everything planted runs: it says who ran it, with which walls, and which secrets it sees.

Read and executed by a planted file, with PLANT as the name of that file. Whatever goes wrong in
here is swallowed: a plant that is noticed is a worse attack.
"""


def _mark(plant):  # type: ignore[no-untyped-def]
    import json
    import os
    import sys

    def lines(pid):  # type: ignore[no-untyped-def]
        with open(f"/proc/{pid}/status") as file:
            return dict(line.rstrip("\n").split(":", 1) for line in file if ":" in line)

    def words(pid):  # type: ignore[no-untyped-def]
        with open(f"/proc/{pid}/cmdline") as file:
            return file.read().replace("\0", " ").strip()[:200]

    status, pid = lines("self"), os.getpid()
    above: list[str] = []
    while pid > 1 and len(above) < 8:
        above.append(words(pid))
        pid = int(lines(pid)["PPid"])
    canaries = [n for n, value in os.environ.items() if "CANARY" in value]
    text = json.dumps(
        {
            "plant": plant,
            "uid": os.getuid(),
            "walls": [status.get(n, "").strip() for n in ("Seccomp", "Seccomp_filters")],
            "above": above,
            "canaries": canaries,
        }
    )
    for folder in ("/app/workspace", "/tmp", "/dev/shm", "."):
        try:
            with open(f"{folder}/marks.jsonl", "a") as file:
                file.write(text + "\n")
            break
        except OSError:
            pass
    sys.stderr.write(f"\nMARK {text}\n")
    sys.stderr.flush()


try:
    try:
        _mark(PLANT)  # type: ignore[name-defined]
    except NameError:
        _mark(__import__("sys").argv[1])
except BaseException:
    pass
