"""Whether the lists of components in a folder are valid by their formats' own libraries, and name
what the binary is made of.

documents.py FOLDER PINS - says what is wrong; status 1 then.
"""

import json
import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

ZIG_LINKS = {"musl", "libc++", "libc++abi", "libunwind", "zig-compiler-rt"}
# Of dpkg, of the lock of Python packages, npm itself and what it brings.
SOME = ["libc6", "ipykernel", "npm", "semver"]


def wrong_with(file: Path, pinned: set[str]) -> list[str]:
    text = file.read_text()
    document = json.loads(text)
    if file.name.endswith(".cdx.json"):
        error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
        found = [str(error)] if error else []
        names = {part["bom-ref"]: part["name"] for part in document["components"]}
        (binary,) = [key for key, name in names.items() if name == "ipybox"]
        (inside,) = [one["dependsOn"] for one in document["dependencies"] if one["ref"] == binary]
        versions = {part["name"]: part["version"] for part in document["components"]}
    else:
        messages = validate_full_spdx_document(parse_file(str(file)), "SPDX-2.3")
        found = [one.validation_message for one in messages]
        names = {part["SPDXID"]: part["name"] for part in document["packages"]}
        inside = [
            link["relatedSpdxElement"]
            for link in document["relationships"]
            if link["relationshipType"] == "STATIC_LINK"
        ]
        versions = {part["name"]: part["versionInfo"] for part in document["packages"]}
    linked = {names[one] for one in inside}
    if linked != pinned | ZIG_LINKS:
        found.append(f"inside the binary: {sorted(linked)}")
    found += [f"{name} is not in it" for name in SOME if name not in versions]
    return found


def main() -> None:
    folder, pins = map(Path, sys.argv[1:])
    rows = [line.split() for line in pins.read_text().splitlines()]
    pinned = {row[0] for row in rows if row and row[0] != "#" and not row[0].startswith("#")}
    files = sorted(folder.glob("*.json"))
    wrong = [f"{file.name}: {text}" for file in files for text in wrong_with(file, pinned)]
    print("\n".join(wrong) or f"{len(files)} documents are in order")
    sys.exit(1 if wrong or not files else 0)


if __name__ == "__main__":
    main()
