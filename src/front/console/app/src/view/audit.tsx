// SPDX-License-Identifier: Apache-2.0
//
// The end of the audit log: who ran, called, approved and asked for what. The administrator sees it.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { get } from "../api";
import { health, role } from "../state";
import { messageOf, visible } from "../text";
import type { AuditRecord } from "../types";
import { Button, Search } from "./ui";

const POLL_MS = 2000;
const CHAIN = new Set(["seq", "time", "kind", "prev", "hash", "session", "outcome", "request_id", "trace_id", "sha256"]);

const records = signal<AuditRecord[]>([]);
const why = signal("");
const sought = signal("");

async function list(): Promise<void> {
  try {
    records.value = (await get<{ records: AuditRecord[] }>("v1/audit?limit=200")).records.reverse();
    why.value = "";
  } catch (e) {
    records.value = [];
    why.value = messageOf(e);
  }
}

const details = (one: AuditRecord): string =>
  Object.entries(one)
    .filter(([name]) => !CHAIN.has(name))
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(", ");

function Row({ one }: { one: AuditRecord }): JSX.Element {
  return (
    <li class="record">
      <div class="row">
        <span class="grow name">{visible(one.kind.replaceAll("_", " "))}</span>
        {one.outcome && <span class={["ok", "accepted", "written", "live"].includes(one.outcome) ? "faint" : "bad"}>{visible(one.outcome)}</span>}
        <time class="faint" dateTime={one.time} title={`record ${one.seq}`}>
          {new Date(one.time).toLocaleTimeString()}
        </time>
      </div>
      <p class="faint">{visible([one.session, details(one)].filter(Boolean).join(": "))}</p>
    </li>
  );
}

export function AuditPanel(): JSX.Element {
  const admin = role.value === "admin";
  const kept = health.value?.audit !== undefined && health.value.audit !== "off";
  useEffect(() => {
    if (!admin || !kept) return;
    void list();
    const timer = setInterval(() => void list(), POLL_MS);
    return () => clearInterval(timer);
  }, [admin, kept]);
  const fits = (one: AuditRecord): boolean => Object.values(one).join(" ").toLowerCase().includes(sought.value.toLowerCase());
  if (!kept)
    return (
      <p>
        This server keeps no audit log. <code>--audit-log FILE</code> begins one.
      </p>
    );
  if (!admin) return <p class="faint">The audit log is shown to who has the administrator's token.</p>;
  return (
    <>
      <div class="row">
        <div class="grow">
          <Search label="Find a record" value={sought} />
        </div>
        <Button icon="again" label="Look again" onClick={() => void list()} />
      </div>
      {why.value && <p class="bad">{visible(why.value)}</p>}
      <ul class="list" id="audit" aria-label="Records, the newest first">
        {records.value.filter(fits).map((one) => (
          <Row key={one.seq} one={one} />
        ))}
      </ul>
      <p class="faint">
        The last 200. Code never stands in them, only its SHA-256; <code>ipybox audit verify</code> checks the file.
      </p>
    </>
  );
}
