#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""openapi_tools.py FILE > LIST - an OpenAPI or Swagger document as tools of an MCP server.

A tool is called as its operation (`operationId`). Its arguments are the parameters of the path, the
query and the headers, and the members of a JSON body that is an object without a name; any other
body is the argument `body`. Its result is the schema of the first answer of 2xx. References go to
`$defs` of the tool, each definition once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

METHODS = ("get", "put", "post", "patch", "delete")
PARAMETER = ("name", "in", "required", "schema", "example", "examples", "style", "explode")
HOMES = ("#/definitions/", "#/components/schemas/")


class Document:
    def __init__(self, tree: Schema) -> None:
        self.tree = tree

    def at(self, reference: str) -> Any:
        here: Any = self.tree
        for part in reference.removeprefix("#/").split("/"):
            here = here[part.replace("~1", "/").replace("~0", "~")]
        return here

    def whole(self, value: Schema) -> Schema:
        """`value`, or what it refers to."""
        while "$ref" in value:
            value = self.at(value["$ref"])
        return value

    def operations(self) -> Iterator[tuple[Schema, Schema]]:
        """Each operation with the path item that it is in."""
        for item in self.tree["paths"].values():
            for method in METHODS:
                if "operationId" in item.get(method, {}):
                    yield item, item[method]

    def tools(self) -> list[Schema]:
        return [self.tool(item, operation) for item, operation in self.operations()]

    def tool(self, item: Schema, operation: Schema) -> Schema:
        properties: Schema = {}
        required: list[str] = []
        for parameter in map(
            self.whole, [*item.get("parameters", []), *operation.get("parameters", [])]
        ):
            if parameter["in"] in ("cookie", "formData"):
                continue
            if parameter["in"] == "body":
                self.add_body(parameter, properties, required)
                continue
            properties[parameter["name"]] = self.schema_of(parameter)
            if parameter.get("required") and parameter["name"] not in required:
                required.append(parameter["name"])
        body = self.whole(operation.get("requestBody", {}))
        if content := self.json_of(body):
            self.add_body({**body, "schema": content}, properties, required)
        made: Schema = {
            "name": operation["operationId"].replace("/", "_"),
            "description": self.about(operation),
            "inputSchema": self.with_definitions(
                {"type": "object", "properties": properties, "required": required}
            ),
        }
        if result := self.result_of(operation):
            made["outputSchema"] = self.with_definitions(result)
        return made

    def about(self, operation: Schema) -> str:
        summary, text = operation.get("summary", ""), operation.get("description", "")
        return f"{summary}\n\n{text}".strip() if summary else str(text)

    def schema_of(self, parameter: Schema) -> Schema:
        """OpenAPI 3 has it in `schema`, Swagger beside the name."""
        if "schema" in parameter:
            made = dict(parameter["schema"])
            if "description" in parameter:
                made.setdefault("description", parameter["description"])
            return made
        return {name: value for name, value in parameter.items() if name not in PARAMETER}

    def add_body(self, body: Schema, properties: Schema, required: list[str]) -> None:
        schema = body["schema"]
        if schema.get("properties") and not properties.keys() & schema["properties"].keys():
            properties.update(schema["properties"])
            required += schema.get("required", [])
        else:
            properties["body"] = schema
            required += ["body"] if body.get("required") else []

    def json_of(self, body: Schema) -> Schema | None:
        found = body.get("content", {}).get("application/json", {}).get("schema")
        return found if isinstance(found, dict) else None

    def result_of(self, operation: Schema) -> Schema | None:
        """An object; a tool has no other structured result."""
        for status, response in operation.get("responses", {}).items():
            if status.startswith("2"):
                answer = self.whole(response)
                schema: Schema | None = self.json_of(answer) or answer.get("schema")
                if schema and (whole := self.whole(schema)).get("type", "object") == "object":
                    return schema if "properties" in whole else None
        return None

    def with_definitions(self, schema: Schema) -> Schema:
        """`schema` with the definitions that it needs, directly or not."""
        found: Schema = {}
        made = self.moved(schema, found)
        waiting = list(found)
        while waiting:
            name = waiting.pop()
            more: Schema = {}
            found[name] = self.moved(found[name], more)
            waiting += [one for one in more if one not in found]
            found |= {one: value for one, value in more.items() if one not in found}
        return {**made, "$defs": found} if found else made

    def moved(self, value: Any, found: Schema) -> Any:
        if isinstance(value, list):
            return [self.moved(one, found) for one in value]
        if not isinstance(value, dict):
            return value
        reference = value.get("$ref")
        if isinstance(reference, str) and reference.startswith(HOMES):
            name = reference.rsplit("/", 1)[1]
            found[name] = self.at(reference)
            rest = {key: self.moved(one, found) for key, one in value.items() if key != "$ref"}
            return {"$ref": f"#/$defs/{name}", **rest}
        return {key: self.moved(one, found) for key, one in value.items()}


def main() -> int:
    tree = json.loads(Path(sys.argv[1]).read_text())
    json.dump({"tools": Document(tree).tools()}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
