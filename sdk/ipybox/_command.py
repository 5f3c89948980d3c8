"""The commands `ipybox` and `srt` of a wheel: the binary beside this file, with the Python of the
environment that the wheel is installed in for its kernels."""

from __future__ import annotations

import os
import sys

from ipybox._installed import IMAGE, binary

TYPE_CHECKING = False  # typing takes longer to import than all else here
if TYPE_CHECKING:
    from typing import NoReturn


def ipybox() -> NoReturn:
    """Run the binary; where there is none, the image in Docker."""
    program = binary() if sys.platform == "linux" else None
    if not program:
        _run_image(sys.argv[1:])
    _run([program, *sys.argv[1:]], "ipybox")


def srt() -> NoReturn:
    """Run the binary by the name that makes it take the options of srt."""
    program = binary() if sys.platform == "linux" else None
    if not program:
        sys.exit("srt: the sandbox needs Linux; in Docker it is a command of the image")
    _run([program, *sys.argv[1:]], "srt")


def _run(words: list[str], name: str) -> NoReturn:
    os.environ.setdefault("IPYBOX_PYTHON", sys.executable)
    scripts = os.path.dirname(sys.executable)
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    if scripts not in folders:  # MCP servers find srt, and programs of this environment
        os.environ["PATH"] = os.pathsep.join([*folders, scripts])
    try:
        os.execv(words[0], [name, *words[1:]])
    except OSError as error:
        sys.exit(f"ipybox: {words[0]}: {error.strerror}: this wheel is of another machine")


def _run_image(words: list[str]) -> NoReturn:
    from shutil import which

    docker = which("docker")
    if not docker:
        sys.exit(
            "ipybox runs natively on Linux (x86_64, aarch64) or in Docker, and here is neither: "
            "install Docker and build the image with ./docker-build.sh"
        )
    place, words = _workspace(words)
    image = os.environ.get("IPYBOX_IMAGE", IMAGE)
    _need_image(docker, image)
    run = ["docker", "run", "-i", "--rm", "--pull", "never", "-v", f"{place}:{place}"]
    run += ["-e", f"IPYBOX_WORKSPACE={place}"]  # whose owner the container is to be
    os.execv(docker, [*run, image, *words, "--workspace", place])


def _need_image(docker: str, image: str) -> None:
    from subprocess import DEVNULL, PIPE, run

    words = [docker, "image", "inspect", image]
    asked = run(words, stdout=DEVNULL, stderr=PIPE, text=True, check=False)
    if asked.returncode == 0:
        return
    if "No such image" in asked.stderr:
        sys.exit(
            f"ipybox: the image {image} is not here: build it with ./docker-build.sh, or name "
            "another one in IPYBOX_IMAGE"
        )
    sys.exit(f"ipybox: Docker cannot be used: {asked.stderr.strip()}")


def _workspace(words: list[str]) -> tuple[str, list[str]]:
    """The folder to mount, and the words without it."""
    place, rest = ".", []
    at = iter(words)
    for word in at:
        if word == "--workspace":
            place = next(at, ".")
        elif word.startswith("--workspace="):
            place = word.partition("=")[2]
        else:
            rest.append(word)
    return os.path.abspath(place), rest


if __name__ == "__main__":
    ipybox()
