#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""generate.py - writes corpus/generated.json: schemas by chance, the same ones each time."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from corpus import CORPUS

COUNT = 150
DEPTH_MAX = 3
TARGET = CORPUS / "generated.json"

Schema = dict[str, Any]
Make = Callable[[int], Schema]
T = TypeVar("T")

NAMES = (
    "id name path query limit offset since until state labels owner page_size createdAt userId "
    "content-type from class filter options items data value values text format type title tags "
    "target mode level color point matrix entries children parent config meta settings callback "
    "MaxTokens top_k $select @id x-flag 2nd kind amount currency email url start end list model_id"
)
VALUES = "asc desc open closed all none A a in-progress 1 +1 on/off UPPER é x.y none_of_these"
WORDS = NAMES.split()
TEXTS = VALUES.split()
PATTERNS = [
    r"^[a-z]+$",
    r"^\d{3}$",
    r"^[A-Z]{2}-\d+$",
    "foo",
    r"^(a|b)?$",
    r"^[\w.-]+/[\w.-]+$",
    r"^\S+$",
]
FORMATS = [
    "date-time",
    "date",
    "time",
    "uri",
    "uuid",
    "ipv4",
    "ipv6",
    "byte",
    "hostname",
    "duration",
]


class Chance:
    """A generator of our own (xorshift64*): no version of Python gives other schemas."""

    def __init__(self, seed: int) -> None:
        self.state = (seed * 0x9E3779B97F4A7C15 + 1) & 0xFFFFFFFFFFFFFFFF

    def below(self, n: int) -> int:
        x = self.state
        x ^= x >> 12
        x = (x ^ x << 25) & 0xFFFFFFFFFFFFFFFF
        x ^= x >> 27
        self.state = x
        return (x * 0x2545F4914F6CDD1D & 0xFFFFFFFFFFFFFFFF) % (1 << 62) // 64 % n

    def one_in(self, n: int) -> bool:
        return self.below(n) == 0

    def of(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]

    def some(self, choices: Sequence[T], least: int, most: int) -> list[T]:
        """Different ones, in the order of the choices."""
        wanted = least + self.below(most - least + 1)
        left = list(range(len(choices)))
        while len(left) > wanted:
            del left[self.below(len(left))]
        return [choices[i] for i in left]


class Maker:
    """One document."""

    def __init__(self, chance: Chance) -> None:
        self.chance = chance
        self.draft7 = chance.one_in(4)
        self.key = "definitions" if self.draft7 else "$defs"
        self.defs: dict[str, Schema] = {}
        self.names = chance.some(["Point", "Filter", "Node", "sort_order", "Ref"], 0, 3)

    def document(self) -> Schema:
        whole = self.object(0)
        for name in self.names:
            self.defs[name] = self.definition(name)
        if self.defs:
            whole[self.key] = self.defs
        if self.chance.one_in(3):
            draft = "http://json-schema.org/draft-07/schema#"
            whole["$schema"] = (
                draft if self.draft7 else "https://json-schema.org/draft/2020-12/schema"
            )
        return whole

    def definition(self, name: str) -> Schema:
        if name == "sort_order":
            return {"type": "string", "enum": self.chance.some(TEXTS, 1, 4)}
        if name == "Ref":
            makers: list[Make] = [self.string, self.integer, self.array]
            return self.chance.of(makers)(2)
        made = self.object(2)
        if name == "Node":
            made["properties"]["children"] = {
                "type": "array",
                "items": {"$ref": f"#/{self.key}/Node"},
            }
        return made

    def any(self, depth: int) -> Schema:
        made = self.chance.of(self.makers(depth))(depth)
        if self.chance.one_in(3):
            made = {**made, "description": f"About {self.chance.of(WORDS)}."}
        if self.chance.one_in(8):
            made = {**made, "title": self.chance.of(WORDS).title()}
        return made

    def makers(self, depth: int) -> list[Make]:
        simple: list[Make] = [
            self.string,
            self.string,
            self.integer,
            self.number,
            self.boolean,
            self.enum,
        ]
        more: list[Make] = [self.const, self.nullable, self.free, self.reference]
        deep: list[Make] = [
            self.object,
            self.array,
            self.array,
            self.mapping,
            self.choice,
            self.tuple,
            self.all,
        ]
        return simple * 2 + more + (deep if depth < DEPTH_MAX else [])

    # --- without parts ---

    def string(self, depth: int) -> Schema:
        made: Schema = {"type": "string"}
        what = self.chance.below(8)
        if what == 0:
            made["pattern"] = self.chance.of(PATTERNS)
        elif what == 1:
            made["format"] = self.chance.of(FORMATS)
        elif what == 2:
            made["minLength"] = self.chance.below(4)
        if what == 3 or (what == 2 and self.chance.one_in(2)):
            made["maxLength"] = 3 + self.chance.below(6)
        if what in (4, 5) and self.chance.one_in(2):
            made["default"] = self.chance.of(TEXTS)
        return made

    def integer(self, depth: int) -> Schema:
        return self.bounded({"type": "integer"}, 1)

    def number(self, depth: int) -> Schema:
        return self.bounded({"type": "number"}, 2)

    def bounded(self, made: Schema, parts: int) -> Schema:
        low = (self.chance.below(21) - 10) / parts
        high = low + (1 + self.chance.below(40)) / parts
        if parts == 1:
            low, high = int(low), int(high)
        if self.chance.one_in(3):
            made[self.chance.of(["minimum", "exclusiveMinimum"])] = low
        if self.chance.one_in(3):
            made[self.chance.of(["maximum", "exclusiveMaximum"])] = high
        if self.chance.one_in(8):
            made["multipleOf"] = (1 + self.chance.below(5)) / parts if parts > 1 else 2
        if self.chance.one_in(4):
            made["default"] = high - 1 / parts if parts > 1 else high - 1
        return made

    def boolean(self, depth: int) -> Schema:
        default = {"default": self.chance.one_in(2)} if self.chance.one_in(2) else {}
        return {"type": "boolean", **default}

    def enum(self, depth: int) -> Schema:
        if self.chance.one_in(5):
            return {"type": "integer", "enum": self.chance.some([-1, 0, 1, 2, 10], 1, 4)}
        made: Schema = {"type": "string", "enum": self.chance.some(TEXTS, 1, 5)}
        if self.chance.one_in(3):
            made["default"] = self.chance.of(made["enum"])
        return made

    def const(self, depth: int) -> Schema:
        return {"const": self.chance.of(["fixed", 7, True, "with space"])}

    def free(self, depth: int) -> Schema:
        free: list[Schema] = [{}, {"type": "object"}, {"type": "array"}, {"default": None}]
        return self.chance.of(free)

    def reference(self, depth: int) -> Schema:
        if not self.names:
            return self.string(depth)
        return {"$ref": f"#/{self.key}/{self.chance.of(self.names)}"}

    # --- with parts ---

    def nullable(self, depth: int) -> Schema:
        makers: list[Make] = [self.string, self.integer, self.reference, self.enum]
        inner = self.chance.of(makers)(depth + 1)
        default = {"default": None} if self.chance.one_in(2) else {}
        if isinstance(inner.get("type"), str) and "enum" not in inner and self.chance.one_in(2):
            return {**inner, "type": [inner["type"], "null"], **default}
        return {"anyOf": [inner, {"type": "null"}], **default}

    def object(self, depth: int) -> Schema:
        names = self.chance.some(WORDS, 1, 5 if depth == 0 else 3)
        made: Schema = {"type": "object", "properties": {n: self.any(depth + 1) for n in names}}
        required = self.chance.some(names, 0, len(names))
        if required or self.chance.one_in(2):
            made["required"] = required
        extra = self.chance.below(8)
        if extra < 3:
            made["additionalProperties"] = [False, True, {"type": "integer"}][extra]
        return made

    def mapping(self, depth: int) -> Schema:
        if self.chance.one_in(5):
            return {"type": "object", "patternProperties": {"^x-": self.any(depth + 1)}}
        return {"type": "object", "additionalProperties": self.any(depth + 1)}

    def array(self, depth: int) -> Schema:
        made: Schema = {"type": "array", "items": self.any(depth + 1)}
        if self.chance.one_in(4):
            made["minItems"] = 1 + self.chance.below(2)
        if self.chance.one_in(4):
            made["maxItems"] = 2 + self.chance.below(3)
        if self.chance.one_in(6):
            made["uniqueItems"] = True
        if self.chance.one_in(6) and "minItems" not in made:
            made["default"] = []
        return made

    def tuple(self, depth: int) -> Schema:
        parts = [self.any(DEPTH_MAX) for _ in range(1 + self.chance.below(3))]
        made: Schema = {"type": "array", "items" if self.draft7 else "prefixItems": parts}
        if self.chance.one_in(2):
            made |= {"minItems": len(parts), "maxItems": len(parts)}
        return made

    def choice(self, depth: int) -> Schema:
        makers = self.makers(depth + 1)
        branches = [self.chance.of(makers)(depth + 1) for _ in range(2 + self.chance.below(2))]
        return {self.chance.of(["anyOf", "oneOf"]): branches}

    def all(self, depth: int) -> Schema:
        parts = [self.object(DEPTH_MAX - 1), self.object(DEPTH_MAX - 1)]
        if "Point" in self.names and self.chance.one_in(2):
            parts[0] = {"$ref": f"#/{self.key}/Point"}
        return {"allOf": parts}


def document() -> str:
    lines = []
    for number in range(COUNT):
        chance = Chance(number + 1)
        tool: Schema = {"name": f"by_chance_{number}", "inputSchema": Maker(chance).document()}
        if chance.one_in(4):
            tool["outputSchema"] = Maker(chance).document()
        lines.append(json.dumps(tool))
    return '{"tools": [\n' + ",\n".join(lines) + "\n]}\n"


if __name__ == "__main__":
    TARGET.write_text(document())
    sys.exit(0)
