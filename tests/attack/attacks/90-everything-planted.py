# SPDX-License-Identifier: Apache-2.0
"""A hundred plants at every place that programs load from, and everything is started that can be."""

from box import Box, CannotTry, Mode
from plants import drive_all, everything, plant, wheel

BREAKS = ("SECURITY.md", "load no program, package, module or setting from where a cell can write")


def box_for(mode: Mode) -> Box:
    return Box(mode, words=["--kernel-gateway-port", "8888"])


def attack(box: Box) -> str:
    package = wheel(box.workspace)
    box.run()
    plants = everything()
    if len(plants) < 60 or plant(box, plants) < 20:
        raise CannotTry("not much could be planted")
    drive_all(box, package)
    loot = box.loot_of_plants()
    if box.inside("/bin/ls", "/app/workspace/marks-of-pip").startswith("/app/workspace/marks-of"):
        loot += "; pip took its settings from the home"
    return loot
