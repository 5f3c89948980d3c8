// SPDX-License-Identifier: Apache-2.0
//
// The variables of the session's kernel: their names, and what can be told of them without asking their own code.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { get, sessionPath } from "../api";
import { filesChanged, session, sessionId, sessions } from "../state";
import { bytes, messageOf, visible } from "../text";
import type { Variable } from "../types";
import { Button, Field, Search } from "./ui";

const found = signal<{ variables: Variable[]; more: boolean } | null>(null);
const why = signal("");
const sought = signal("");

async function list(id: string): Promise<void> {
  try {
    const now = await get<{ variables: Variable[]; more: boolean }>(`${sessionPath(id)}/variables`);
    if (id !== sessionId.value) return;
    found.value = now;
    why.value = "";
  } catch (e) {
    found.value = null;
    why.value = messageOf(e);
  }
}

function Row({ one }: { one: Variable }): JSX.Element {
  return (
    <tr>
      <th scope="row">{visible(one.name)}</th>
      <td>
        {visible(one.type)} {one.shape && <span class="faint">{visible(one.shape)}</span>}
      </td>
      <td class="value" title={visible(one.value)}>
        {visible(one.value)}
      </td>
      <td class="number">{one.size === undefined ? "" : bytes(one.size)}</td>
    </tr>
  );
}

// ---- beside another session ----

interface Difference {
  name: string;
  before?: Variable;
  after?: Variable;
}

const other = signal(""); // the session to compare with; "": none
const differences = signal<Difference[] | null>(null);

// By what is told of a variable: what changed inside of an object of the same size is not seen.
const told = ({ type, shape, value, size }: Variable): string => JSON.stringify([type, shape, value, size]);

async function compare(before: string, after: string): Promise<void> {
  try {
    const [old, now] = await Promise.all(
      [before, after].map((id) => get<{ variables: Variable[] }>(`${sessionPath(id)}/variables`)),
    );
    if (before !== other.value || after !== sessionId.value || !old || !now) return;
    const names = new Map<string, Difference>();
    for (const one of old.variables) names.set(one.name, { name: one.name, before: one });
    for (const one of now.variables) names.set(one.name, { ...names.get(one.name), name: one.name, after: one });
    differences.value = [...names.values()].filter(
      (one) => !one.before || !one.after || told(one.before) !== told(one.after),
    );
    why.value = "";
  } catch (e) {
    differences.value = null;
    why.value = messageOf(e);
  }
}

function Side({ one }: { one: Variable | undefined }): JSX.Element {
  if (!one) return <td class="faint">not there</td>;
  return (
    <td class="value" title={visible(one.value)}>
      {visible(one.type)} {one.shape && visible(one.shape)} {visible(one.value)}
    </td>
  );
}

function Differences(): JSX.Element {
  const id = sessionId.value;
  const others = sessions.value.filter((one) => one.id !== id);
  const parent = session.value?.forked_from;
  useLayoutEffect(() => {
    other.value = ""; // before somebody can choose
    differences.value = null;
  }, [id]);
  useEffect(() => {
    if (other.value) void compare(other.value, id);
  }, [id, other.value, filesChanged.value]);
  if (others.length === 0) return <></>;
  return (
    <section aria-label="Differences">
      <Field label="Compare with">
        <select
          id="compare-with"
          value={other.value}
          onChange={(event) => {
            differences.value = null;
            other.value = event.currentTarget.value;
          }}
        >
          <option value="">no other session</option>
          {others.map((one) => (
            <option key={one.id} value={one.id}>
              {one.id === parent ? `${visible(one.id)}, which it was forked from` : visible(one.id)}
            </option>
          ))}
        </select>
      </Field>
      {differences.value && differences.value.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="What differs">
          <table class="variables" id="differences">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">{visible(other.value)}</th>
                <th scope="col">{visible(id)}</th>
              </tr>
            </thead>
            <tbody>
              {differences.value.map((one) => (
                <tr key={one.name}>
                  <th scope="row">{visible(one.name)}</th>
                  <Side one={one.before} />
                  <Side one={one.after} />
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {differences.value && (
        <p class="faint">
          {differences.value.length === 0 && "Nothing differs. "}
          Type, shape, size and the value that is shown are compared; what changed inside of an object is not seen.
        </p>
      )}
    </section>
  );
}

export function VariablesPanel(): JSX.Element {
  const id = sessionId.value;
  useEffect(() => {
    found.value = null;
  }, [id]);
  useEffect(() => {
    if (id) void list(id);
  }, [id, filesChanged.value]);
  const shown = (found.value?.variables ?? []).filter(({ name, type }) => `${name} ${type}`.toLowerCase().includes(sought.value.toLowerCase()));
  return (
    <>
      <div class="row">
        <div class="grow">
          <Search label="Find a variable" value={sought} />
        </div>
        <Button icon="again" label="Look again" onClick={() => void list(id)} />
      </div>
      {shown.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Variables of this session">
          <table class="variables" id="variables">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Type</th>
                <th scope="col">Value</th>
                <th scope="col">Size</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((one) => (
                <Row key={one.name} one={one} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {found.value?.more && <p class="faint">There are more: the newest are shown.</p>}
      {found.value?.variables.length === 0 && <p class="faint">No variable yet. Modules, functions and classes are not shown.</p>}
      {why.value && <p class="faint">{visible(why.value)}</p>}
      <Differences />
    </>
  );
}
