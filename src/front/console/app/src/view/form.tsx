// SPDX-License-Identifier: Apache-2.0
//
// A form from a JSON schema: for questions of MCP servers (elicitation) and for a call of a tool. Fields that no simple
// input can hold take JSON.

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { visible } from "../text";
import type { Schema } from "../types";
import { Field } from "./ui";

const INPUTS: Record<string, "email" | "url" | "date"> = { email: "email", uri: "url", date: "date" };

// The choices of a field, as [value, what is shown]; null: any value.
function choices(schema: Schema): [string, string][] | null {
  const titled = schema.oneOf ?? schema.items?.oneOf ?? schema.items?.anyOf;
  if (Array.isArray(titled) && titled.every((one) => "const" in one))
    return titled.map((one) => [String(one.const), String(one.title ?? one.const)]);
  const names = schema.enum ?? schema.items?.enum;
  return Array.isArray(names) ? names.map((name, i) => [String(name), String(schema.enumNames?.[i] ?? name)]) : null;
}

const typeOf = (schema: Schema): string =>
  Array.isArray(schema.type) ? (schema.type.find((type) => type !== "null") ?? "string") : (schema.type ?? "");

const isNumber = (schema: Schema): boolean => typeOf(schema) === "number" || typeOf(schema) === "integer";

interface Gathered {
  values: Record<string, unknown>;
  wrong: string; // what is wrong with them; "": nothing
}

function gather(form: HTMLFormElement, properties: [string, Schema][]): Gathered {
  const values: Record<string, unknown> = {};
  for (const [i, [name, schema]] of properties.entries()) {
    const input = form.elements.namedItem(`field-${i}`);
    if (input instanceof HTMLSelectElement && input.multiple) {
      values[name] = [...input.selectedOptions].map(({ value }) => value);
    } else if (input instanceof HTMLInputElement && input.type === "checkbox") {
      values[name] = input.checked;
    } else if (input instanceof HTMLInputElement || input instanceof HTMLSelectElement || input instanceof HTMLTextAreaElement) {
      if (input.value === "") continue;
      if (isNumber(schema)) values[name] = Number(input.value);
      else if (input instanceof HTMLTextAreaElement && typeOf(schema) !== "string") {
        try {
          values[name] = JSON.parse(input.value);
        } catch {
          return { values, wrong: `${name}: this is not JSON` };
        }
      } else values[name] = input.value;
    }
  }
  return { values, wrong: "" };
}

function Input({ schema, name, required }: { schema: Schema; name: string; required: boolean }): JSX.Element {
  const options = choices(schema);
  const type = typeOf(schema);
  const preset = ([] as unknown[]).concat((schema.default as unknown) ?? []).map(String);
  if (options)
    return (
      <select name={name} multiple={type === "array"} required={required}>
        {type !== "array" && <option value="" />}
        {options.map(([value, text]) => (
          <option value={value} selected={preset.includes(value)}>
            {visible(text)}
          </option>
        ))}
      </select>
    );
  if (type === "boolean") return <input name={name} type="checkbox" defaultChecked={schema.default === true} />;
  if (isNumber(schema))
    return <input name={name} type="number" step={type === "integer" ? 1 : "any"} required={required} defaultValue={preset[0] ?? ""} />;
  if (type === "string") {
    const kind = { type: INPUTS[schema.format ?? ""] ?? "text" } as { type: "text" };
    const needed = required && (schema.minLength ?? 1) > 0;
    return <input name={name} {...kind} autocomplete="off" required={needed} defaultValue={preset[0] ?? ""} />;
  }
  return <textarea name={name} rows={3} required={required} placeholder="JSON" spellcheck={false} />;
}

interface FormProps {
  schema: Schema;
  send: string; // what the button says
  onSend: (values: Record<string, unknown>) => void;
  children?: JSX.Element; // more buttons
}

export function SchemaForm({ schema, send, onSend, children }: FormProps): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  const [wrong, setWrong] = useState("");
  const properties = Object.entries(schema.properties ?? {});
  const required = new Set(schema.required ?? []);
  return (
    <form
      ref={form}
      class="schema-form"
      onSubmit={(event) => {
        event.preventDefault();
        const gathered = gather(form.current as HTMLFormElement, properties);
        setWrong(gathered.wrong);
        if (!gathered.wrong) onSend(gathered.values);
      }}
    >
      {properties.map(([name, one], i) => (
        <Field label={visible(one.title ?? name) + (required.has(name) ? "" : " (may be empty)")}>
          <Input schema={one} name={`field-${i}`} required={required.has(name)} />
          {one.description && <small>{visible(one.description)}</small>}
        </Field>
      ))}
      {properties.length === 0 && <p class="faint">It takes no arguments.</p>}
      {wrong && <p class="bad">{wrong}</p>}
      <div class="row">
        <button class="button primary">{send}</button>
        {children}
      </div>
    </form>
  );
}
