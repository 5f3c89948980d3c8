# SPDX-License-Identifier: Apache-2.0
"""Instances of a schema, derived from it: values that fit, and values that are wrong in one place.

They need not be valid or invalid as JSON Schema has it: two models are compared, not a model and
a schema. What counts is that each keyword has values on both sides of its border.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

DEPTH_MAX = 5  # below it only what is required
END = 16  # below it nothing
PER_PLACE_MAX = 30
PER_SCHEMA_MAX = 140

T = TypeVar("T")
Variant = tuple[str, Any]  # what is special about it; the value

OTHER_TYPES: list[Variant] = [
    ("null", None),
    ("true", True),
    ("zero", 0),
    ("one", 1),
    ("fraction", 1.5),
    ("text", "some text"),
    ("digits", "7"),
    ("empty text", ""),
    ("empty list", []),
    ("list of text", ["x"]),
    ("empty object", {}),
    ("object", {"k": 1}),
]

STRINGS = ["text", "", "a", "Ünï-códe ✓", "null", "7", " padded ", "line\nline"]

NUMBERS: list[Any] = [1, 0, -1, 1.0, 1.5, -0.5, "1", "1.5", "x", 2**53 + 1, 2**64, 1e300, True]

# For patterns: whatever fits, and whatever does not.
TRIAL = [
    *("abc", "a", "A", "ABC", "Abc", "1", "12", "123", "1234", "abc123", "", "a b", "a-b", "a_b"),
    *("x-a", "foo", "foobar", "bar", "barfoo", "a.b", "a/b", "owner/name", "v1.2.3", "1.2.3"),
    *("main", "#fff", "#ffffff", "0x1F", "user@example.com", "2024-02-29", "12:30", "aa", "aab"),
    *("é", "日本", "+49123", "(x)", "\t", "a\n", "I'm", '"', "\\", "$", "^", "aaaaaaaaaaaa"),
    *("AB-12", "ab-12", "0123456789abcdef0123456789abcdef01234567", "-1", "S_x", "I_x", "💡"),
    *("https://example.com/a", "2024", "/a", "${abc}", "ab"),
]

FORMATS: dict[str, list[str]] = {
    "date-time": [
        *("2024-02-29T12:30:00Z", "2024-02-29T12:30:00+02:00", "2024-02-29T12:30:00.123456Z"),
        *("2024-02-29T12:30:00", "2024-02-29 12:30:00Z", "2024-02-30T12:30:00Z", "2024-02-29"),
        *("1709209800", "x"),
    ],
    "date": ["2024-02-29", "2023-02-29", "2024-02-29T00:00:00", "2024-2-9", "x"],
    "time": ["12:30:00", "12:30:00Z", "12:30:00+02:00", "12:30", "25:00:00", "x"],
    "duration": ["P1DT2H", "PT0.5S", "P1W", "1 day", "-P1D", "x", "3600"],
    "uri": [
        *("https://example.com/a?b=c#d", "HTTPS://Example.COM", "mailto:a@b.c", "urn:isbn:1"),
        *("file:///x", "/relative", "example.com", "http://", "http://a b", "http://ä.de/ü", "x"),
    ],
    "email": ["a@example.com", "A.B+c@Example.COM", "a@b", "a", "a@@b.c", "Name <a@example.com>"],
    "uuid": [
        *("123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-42D3-A456-426614174000"),
        *("123e4567e89b12d3a456426614174000", "{123e4567-e89b-12d3-a456-426614174000}"),
        *("123e4567-e89b-12d3-a456-42661417400", "x"),
    ],
    "ipv4": ["127.0.0.1", "256.0.0.1", "127.1", "::1", "192.0.2.1/24", "x"],
    "ipv6": ["::1", "2001:DB8::1", "fe80::1%eth0", "127.0.0.1", "::g", "x"],
    "hostname": ["example.com", "Example", "-a.b", "a_b", "a..b", "x" * 70, "ä.de"],
    "byte": ["aGk=", "aGk", "aG k=", "-_==", "", "x"],
    "binary": ["aGk=", "text", "ü", ""],
    "password": ["secret", ""],
    "regex": ["^a$", "("],
    "json-pointer": ["/a/b", "a"],
}
FORMATS["uri-reference"] = FORMATS["iri"] = FORMATS["url"] = FORMATS["uri"]
FORMATS["idn-email"] = FORMATS["email"]

KEYWORD_TYPES = {
    "object": ("properties", "additionalProperties", "patternProperties", "required"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"),
    "string": ("pattern", "minLength", "maxLength", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


def instances(schema: Any) -> dict[str, Any]:
    """What is special about each, and where; the first is meant to be valid."""
    found: dict[str, Any] = {}
    known = set()
    for label, value in Derivation(schema).variants(schema, 0):
        text = json.dumps(value, sort_keys=True)
        if text not in known:
            known.add(text)
            name, n = label or "base", 2
            while name in found:
                name, n = f"{label} #{n}", n + 1
            found[name] = value
    return dict(spread(list(found.items()), PER_SCHEMA_MAX))


def spread(items: list[Variant], most: int) -> list[Variant]:
    """At most so many of them, from everywhere; the first always."""
    n = len(items)
    return items if n <= most else [items[i * n // most] for i in range(most)]


def place(where: str, label: str) -> str:
    """`label` names a place already when it begins with '/'."""
    if not label:
        return ""
    return f"/{where}{label}" if label.startswith("/") else f"/{where}: {label}"


class Derivation:
    """From one document."""

    def __init__(self, root: Any) -> None:
        self.root = root

    # --- schemas ---

    def target(self, ref: str) -> Any:
        at = self.root
        if ref[1:2] not in ("/", ""):  # a name, not a path
            return anchored(self.root, ref.lstrip("#"))
        for part in ref.lstrip("#").split("/")[1:]:
            key = part.replace("%25", "%").replace("%22", '"').replace("~1", "/").replace("~0", "~")
            if isinstance(at, list):
                at = at[int(key)] if key.isdigit() and int(key) < len(at) else {}
            else:
                at = at.get(key, {}) if isinstance(at, dict) else {}
        return at

    def flat(self, schema: Any, hops: int = 20) -> dict[str, Any]:
        """References and allOf taken together, the stricter keyword where it is easily said."""
        if not isinstance(schema, dict):
            return {}
        parts = [{k: v for k, v in schema.items() if k not in ("$ref", "allOf")}]
        if isinstance(schema.get("$ref"), str) and hops:
            parts.append(self.flat(self.target(schema["$ref"]), hops - 1))
        parts += [self.flat(s, hops - 1) for s in schema.get("allOf", []) if hops]
        whole: dict[str, Any] = {}
        for part in parts:
            for key, value in part.items():
                whole[key] = combine(key, whole[key], value) if key in whole else value
        return whole

    def types(self, schema: dict[str, Any]) -> list[str]:
        given = schema.get("type")
        if isinstance(given, str):
            return [given]
        if isinstance(given, list):
            return sorted((t for t in given if isinstance(t, str)), key=lambda t: t == "null")
        return [t for t, words in KEYWORD_TYPES.items() if any(word in schema for word in words)]

    # --- values ---

    def variants(self, schema: Any, depth: int) -> list[Variant]:
        """The first without a label is meant to fit."""
        whole = self.flat(schema)
        found = list(self.fitting(whole, depth))
        if not found:
            found = [("", "anything")] if schema is not False else [("", None)]
        found[0] = ("", found[0][1])
        return found + OTHER_TYPES

    def fitting(self, schema: dict[str, Any], depth: int) -> Iterator[Variant]:
        for i, example in enumerate(schema.get("examples") or []):
            yield f"example {i}", example
        if "const" in schema or "enum" in schema:
            yield from constants(schema)
            return
        for keyword in ("anyOf", "oneOf"):
            if depth <= DEPTH_MAX + 2:
                yield from self.choices(schema, keyword, depth)
        for kind in self.types(schema):
            make = getattr(self, f"of_{kind}", None)
            if make:
                yield from make(schema, depth)
        if "default" in schema:
            yield "default", schema["default"]

    def choices(self, schema: dict[str, Any], keyword: str, depth: int) -> Iterator[Variant]:
        rest = {k: v for k, v in schema.items() if k not in ("anyOf", "oneOf", "default")}
        for i, branch in enumerate(schema.get(keyword) or []):
            whole = self.flat({"allOf": [rest, branch]})
            branches = list(self.fitting(whole, depth + 1))
            for label, value in spread(branches, PER_PLACE_MAX):
                yield (place(f"{keyword}/{i}", label or "base")), value

    def of_null(self, schema: dict[str, Any], depth: int) -> Iterator[Variant]:
        yield "null", None

    def of_boolean(self, schema: dict[str, Any], depth: int) -> Iterator[Variant]:
        for value in (True, False, 0, 1, 2, 1.0, "true", "yes", "off", "maybe"):
            yield f"boolean {value!r}", value

    def of_integer(self, schema: dict[str, Any], depth: int) -> Iterator[Variant]:
        yield from self.of_number(schema, depth)

    def of_number(self, schema: dict[str, Any], depth: int) -> Iterator[Variant]:
        low, high = lower(schema), upper(schema)
        step = schema.get("multipleOf", 1)
        values: list[Any] = []
        for border in (low, high):
            if border is not None:
                values += [border + step, border - step, border, border + 0.5, border - 0.5]
        if low is not None and high is not None:
            values.append((low + high) / 2)
        if "multipleOf" in schema:
            start = 0 if low is None else math.ceil(low / step) * step
            values += [start + step, start, start + 2 * step, step / 2, -step, step * 1.1]
        for value in fitting_first([*values, *NUMBERS], lambda v: number_fits(schema, v)):
            yield f"number {value!r}", value

    def of_string(self, schema: dict[str, Any], depth: int) -> Iterator[Variant]:
        pattern, form = schema.get("pattern"), schema.get("format")
        found: list[Variant] = by_pattern(pattern) if isinstance(pattern, str) else []
        for value in FORMATS.get(form, []) if isinstance(form, str) else []:
            found.append((f"format {form} {value[:40]!r}", value))
        lengths = [schema.get("minLength"), schema.get("maxLength")]
        for n in [int(n) for n in lengths if isinstance(n, int | float) and n < 10000]:
            for length in (n, n + 1, max(0, n - 1)):
                found.append((f"length {length}", "a" * length))
                found.append((f"length {length} of wide characters", "💡" * length))
        found += [(f"text {text!r}", text) for text in STRINGS]
        yield from fitting_first(found, lambda it: string_fits(schema, it[1]))

    def of_array(self, schema: dict[str, Any], depth: int) -> Iterator[Variant]:
        first = schema.get("prefixItems")
        items = schema.get("items")
        rest = items
        if not isinstance(first, list):
            first = items if isinstance(items, list) else []
            rest = schema.get("additionalItems") if isinstance(items, list) else items
        least = int(schema.get("minItems", 0) or 0)
        most = int(schema.get("maxItems", 99)) if rest is not False else len(first)
        wanted = min(max(least, len(first) or 1 if depth <= DEPTH_MAX else 0), most)
        if depth > END:
            yield "empty list", []
            return
        head = [self.variants(s, depth + 1) for s in first]
        tail = self.variants({} if rest in (None, True, False) else rest, depth + 1)
        base = [column[0][1] for column in head][:wanted]
        fill = tail[0][1]
        base = base + [fill] * (wanted - len(base))
        yield "full list", base
        if depth > DEPTH_MAX:
            return
        for length in sorted({0, 1, len(head), len(head) + 1, *bounds(schema, "Items")}):
            more = base[:length] + [fill] * max(0, length - len(base))
            yield f"{length} items", more
        for i, column in enumerate(head):
            for label, value in spread(column[1:], PER_PLACE_MAX // 2):
                yield place(str(i), label or "base"), [*base[:i], value, *base[i + 1 :]]
        for label, value in spread(tail[1:], PER_PLACE_MAX):
            yield place("-", label or "base"), [*base[: len(head)], value]
        yield "twice the same", [*base, *base]

    def of_object(self, schema: dict[str, Any], depth: int) -> Iterator[Variant]:
        properties = schema.get("properties") or {}
        required = [r for r in schema.get("required") or [] if isinstance(r, str)]
        if depth > END:
            yield "empty object", {}
            return
        columns = {
            name: self.variants(sub, depth + 1)
            for name, sub in properties.items()
            if depth < DEPTH_MAX or name in required
        }
        base = {name: column[0][1] for name, column in columns.items()}
        for name in required:
            base.setdefault(name, "anything")
        for i in range(len(base), int(schema.get("minProperties", 0) or 0)):
            base[f"k{i}"] = filling(schema.get("additionalProperties"))
        yield "all properties", base
        if depth > DEPTH_MAX:
            return
        yield "required properties", {k: v for k, v in base.items() if k in required}
        for name in required:
            yield f"without {name}", {k: v for k, v in base.items() if k != name}
        for name, column in columns.items():
            for label, value in spread(column[1:], PER_PLACE_MAX):
                yield place(name, label or "base"), {**base, name: value}
        yield from self.more_keys(schema, base, depth)

    def more_keys(self, schema: dict[str, Any], base: Any, depth: int) -> Iterator[Variant]:
        extra = schema.get("additionalProperties")
        if extra is None:
            extra = schema.get("unevaluatedProperties", {})
        keys: dict[str, Any] = {"extra": extra, "Extra-2": extra}
        for pattern, sub in (schema.get("patternProperties") or {}).items():
            keys |= dict.fromkeys([t for _, t in by_pattern(pattern)][:4], sub)
        if isinstance(schema.get("propertyNames"), dict):
            names = self.variants(schema["propertyNames"], depth + 1)
            keys |= {name: extra for _, name in names[:12] if isinstance(name, str)}
        for name, sub in keys.items():
            for label, value in spread(self.variants(sub, depth + 1), PER_PLACE_MAX // 2):
                yield place(f"+{name}", label or "base"), {**base, name: value}
        for length in bounds(schema, "Properties"):
            yield f"{length} keys", {f"k{i}": filling(extra) for i in range(length)}


def filling(schema: Any) -> Any:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return 1 if kind in ("integer", "number") else "x"


def limits(schema: dict[str, Any], *names: str) -> list[Any]:
    values = [schema.get(name) for name in names]
    return [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]


def lower(schema: dict[str, Any]) -> Any:
    return max(limits(schema, "minimum", "exclusiveMinimum"), default=None)


def upper(schema: dict[str, Any]) -> Any:
    return min(limits(schema, "maximum", "exclusiveMaximum"), default=None)


def number_fits(schema: dict[str, Any], value: Any) -> bool:
    if isinstance(value, str | bool) or (schema.get("type") == "integer" and value % 1):
        return False
    low, high = lower(schema), upper(schema)
    step = schema.get("multipleOf")
    return (
        (low is None or value > low or (value == low and "minimum" in schema))
        and (high is None or value < high or (value == high and "maximum" in schema))
        and (value != low or schema.get("exclusiveMinimum") in (None, False))
        and (value != high or schema.get("exclusiveMaximum") in (None, False))
        and (step is None or abs(value / step - round(value / step)) < 1e-9)
    )


def string_fits(schema: dict[str, Any], value: str) -> bool:
    length = len(value)
    if not int(schema.get("minLength", 0)) <= length <= int(schema.get("maxLength", length)):
        return False
    compiled = compile_pattern(schema.get("pattern", ""))
    return compiled is None or compiled.search(value) is not None


def fitting_first(values: list[T], fits: Callable[[T], bool]) -> list[T]:
    """The first that fits before the others."""
    for i, value in enumerate(values):
        if fits(value):
            return [value, *values[:i], *values[i + 1 :]]
    return values


def anchored(schema: Any, name: str) -> Any:
    if isinstance(schema, dict) and schema.get("$anchor") == name:
        return schema
    inner = schema.values() if isinstance(schema, dict) else schema
    if not isinstance(schema, dict | list):
        return {}
    return next((found for found in (anchored(each, name) for each in inner) if found), {})


def bounds(schema: dict[str, Any], what: str) -> list[int]:
    found = []
    for key in (f"min{what}", f"max{what}"):
        n = schema.get(key)
        if isinstance(n, int | float) and not isinstance(n, bool) and 0 <= n < 50:
            found += [max(0, int(n) - 1), int(n), int(n) + 1]
    return sorted(set(found))


def constants(schema: dict[str, Any]) -> Iterator[Variant]:
    values = schema.get("enum") or []
    if "const" in schema:
        values = [schema["const"]]
    for i, value in enumerate(values):
        yield f"constant {i}", value
        if i < 3:
            yield from near(value)


def near(value: Any) -> Iterator[Variant]:
    """What is easily taken for a constant."""
    if isinstance(value, str):
        yield f"{value!r} in other letters", value.swapcase()
        yield f"{value!r} with a space", f"{value} "
    elif isinstance(value, bool):
        yield f"{value!r} as a number", int(value)
        yield f"{value!r} negated", not value
    elif isinstance(value, int | float):
        yield f"{value!r} as text", str(value)
        yield f"{value!r} as a float", float(value)
        yield f"more than {value!r}", value + 1
    elif isinstance(value, list):
        yield f"{value!r} and more", [*value, "more"]
    elif isinstance(value, dict):
        yield f"{value!r} and more", {**value, "more": 1}


def compile_pattern(pattern: Any) -> re.Pattern[str] | None:
    try:
        return re.compile(re.sub(r"\(\?<(?=\w)", "(?P<", pattern))
    except (re.error, TypeError):
        return None


def by_pattern(pattern: str) -> list[Variant]:
    compiled = compile_pattern(pattern)
    if compiled is None:
        return [(f"trial {t!r}", t) for t in TRIAL[:10]]
    good = [t for t in TRIAL if compiled.search(t)]
    bad = [t for t in TRIAL if not compiled.search(t)]
    found = [(f"match {t[:40]!r}", t) for t in good[:8]]
    return found + [(f"no match {t[:40]!r}", t) for t in bad[:8]]


def combine(key: str, a: Any, b: Any) -> Any:
    """A keyword that two schemas of one place have."""
    if key == "properties" and isinstance(a, dict) and isinstance(b, dict):
        both = {k: {"allOf": [a[k], b[k]]} for k in a if k in b}
        return {**a, **b, **both}
    if key == "required":
        return list(dict.fromkeys([*a, *b]))
    if key in ("minimum", "exclusiveMinimum", "minLength", "minItems"):
        return max(a, b)
    if key in ("maximum", "exclusiveMaximum", "maxLength", "maxItems"):
        return min(a, b)
    if key == "pattern":
        return f"(?=[\\s\\S]*?(?:{a}))(?=[\\s\\S]*?(?:{b}))"
    if key == "enum":
        return [v for v in a if v in b]
    return a
