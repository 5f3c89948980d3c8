// SPDX-License-Identifier: Apache-2.0
//
// Tool calls and questions that wait for a human. They stand above everything else, because an agent stands still for them.

import { effect } from "@preact/signals";
import type { JSX } from "preact";
import { approvals, decide, mayApprove, say, settled } from "../state";
import { duration, visible } from "../text";
import type { Approval } from "../types";
import { SchemaForm } from "./form";
import { Button, useNow } from "./ui";

const REMEMBER_MS = 10 * 60 * 1000;
const ALWAYS_MS = 7 * 24 * 3600 * 1000; // the longest that the API takes

const nameOf = (approval: Approval): string => visible(approval.form ? approval.server : `${approval.server}.${approval.tool}`);

function Left({ endsAt }: { endsAt: number }): JSX.Element {
  const seconds = Math.max(0, Math.round((endsAt - useNow(1000)) / 1000));
  return <span class="faint">{duration(seconds * 1000)} left</span>;
}

function Value({ value }: { value: unknown }): JSX.Element {
  if (typeof value === "string") return <pre>{visible(value)}</pre>;
  return <pre class="json">{visible(JSON.stringify(value, null, 2))}</pre>;
}

function Arguments({ of }: { of: Record<string, unknown> }): JSX.Element {
  const entries = Object.entries(of);
  if (entries.length === 0) return <p class="faint">Without arguments.</p>;
  return (
    <dl class="arguments">
      {entries.map(([name, value]) => (
        <>
          <dt>{visible(name)}</dt>
          <dd>
            <Value value={value} />
          </dd>
        </>
      ))}
    </dl>
  );
}

function ToolCall({ approval }: { approval: Approval }): JSX.Element {
  const name = nameOf(approval);
  const answer = async (body: Record<string, unknown>, done: string): Promise<void> => {
    if (await decide(approval, body)) say(`${name}: ${done}`);
  };
  return (
    <>
      <h2>
        <code>{name}</code> wants to run
      </h2>
      <Arguments of={approval.arguments ?? {}} />
      <div class="row">
        <Button label="Allow once" kind="primary" onClick={() => void answer({ decision: "accept" }, "allowed")} />
        <Button
          label="Allow this tool for 10 minutes"
          kind="plain"
          onClick={() => void answer({ decision: "accept", remember_ms: REMEMBER_MS }, "allowed for 10 minutes")}
        />
        <Button
          label="Always allow it here"
          kind="plain"
          onClick={() => void answer({ decision: "accept", remember_ms: ALWAYS_MS }, "allowed in this session until it ends, for a week at most")}
        />
        <Button label="Deny" kind="danger" onClick={() => void answer({ decision: "reject" }, "denied")} />
      </div>
    </>
  );
}

function Question({ approval, form }: { approval: Approval; form: NonNullable<Approval["form"]> }): JSX.Element {
  return (
    <>
      <h2>
        <code>{nameOf(approval)}</code> asks
      </h2>
      <p>{visible(form.message)}</p>
      {approval.mine ? (
        <SchemaForm
          schema={form.requestedSchema}
          send="Send the answer"
          onSend={(content) => void decide(approval, { action: "accept", content })}
        >
          <Button label="Decline" kind="plain" onClick={() => void decide(approval, { action: "decline" })} />
        </SchemaForm>
      ) : (
        <p class="faint">A client with forms has been asked.</p>
      )}
    </>
  );
}

function Card({ approval }: { approval: Approval }): JSX.Element {
  const { form } = approval;
  return (
    <li class="approval" data-id={approval.id}>
      {form ? <Question approval={approval} form={form} /> : <ToolCall approval={approval} />}
      <p class="faint">
        For the session {visible(approval.session)}. Server: <code>{visible(approval.shown)}</code>
        {approval.note && <> {visible(approval.note)}</>}
        {approval.endsAt !== undefined && (
          <>
            {" "}
            · <Left endsAt={approval.endsAt} />
          </>
        )}
      </p>
    </li>
  );
}

const notificationAsked = (): boolean => !("Notification" in window) || Notification.permission !== "default";

async function askForNotification(): Promise<void> {
  await Notification.requestPermission();
  say(Notification.permission === "granted" ? "The browser will tell you." : "The browser does not allow it.");
}

// The tab says how many wait, and a page that nobody looks at notifies.
export function watchApprovals(): void {
  const seen = new Set<string>();
  effect(() => {
    const waiting = approvals.value;
    document.title = waiting.length > 0 ? `(${waiting.length}) ipybox` : "ipybox";
    for (const one of waiting) {
      if (seen.has(one.id)) continue;
      seen.add(one.id);
      if (document.hidden && "Notification" in window && Notification.permission === "granted")
        new Notification("ipybox: an approval waits", { body: nameOf(one), tag: one.id });
    }
  });
  effect(() => {
    const outcome = settled.value?.outcome;
    if (outcome === "expired") say("An approval has expired: the call was refused.", true);
    if (outcome === "withdrawn") say("A call was withdrawn: who asked is gone.");
  });
}

export function Approvals(): JSX.Element | null {
  if (!mayApprove.value) return null;
  const waiting = approvals.value;
  return (
    <section id="approvals" class={`approvals ${waiting.length > 0 ? "some" : ""}`} aria-label="Approvals" aria-live="polite">
      <ul>
        {waiting.map((approval) => (
          <Card key={approval.id} approval={approval} />
        ))}
      </ul>
      {waiting.length > 0 && !notificationAsked() && (
        <Button icon="bell" text label="Notify me of the next ones" onClick={() => void askForNotification()} />
      )}
    </section>
  );
}
