// SPDX-License-Identifier: Apache-2.0
//
// The sessions as a tree of forks, and what can be done with the one that is shown.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { ask, get, post, Refused, sessionPath } from "../api";
import {
  attempt,
  createSession,
  endSession,
  filesChanged,
  newKernel,
  notebook,
  openSession,
  refresh,
  say,
  session,
  sessionId,
  sessions,
} from "../state";
import { bytes, duration, messageOf, visible } from "../text";
import type { Session } from "../types";
import { save } from "./files";
import { Button, confirm } from "./ui";

const STATES: Record<Session["state"], string> = { starting: "starts", idle: "idle", busy: "busy", down: "no kernel" };

async function end(id: string): Promise<void> {
  if (await confirm(`End the session ${id}? Its variables and its running cells are lost; files stay.`, "End it")) await endSession(id);
}

async function reset(): Promise<void> {
  if (await confirm(`Start a new kernel for ${sessionId.value}? Its variables are lost; files stay.`, "New kernel")) await newKernel();
}

// What a fork would lack is asked about, not lost.
async function fork(force = false): Promise<void> {
  const id = sessionId.value;
  try {
    const { sessions: made } = await post<{ sessions: { id: string }[] }>(`${sessionPath(id)}/fork`, { wait: true, force });
    await refresh();
    if (made[0]) openSession(made[0].id);
  } catch (e) {
    const why = messageOf(e);
    if (force || !(e instanceof Refused && e.status === 409 && why.includes('"force"'))) say(why, true);
    else if (await confirm(why, "Fork without it")) await fork(true);
  }
}

// ---- going back ----

interface Checkpoints {
  checkpoints: { cell: number; memory: number }[];
}

const states = signal<Checkpoints["checkpoints"]>([]);

async function listStates(id: string): Promise<void> {
  try {
    const { checkpoints } = await get<Checkpoints>(`${sessionPath(id)}/checkpoints`);
    if (id === sessionId.value) states.value = checkpoints;
  } catch {
    states.value = []; // the session has just ended, or keeps none
  }
}

async function rewind(id: string, cell: number): Promise<void> {
  const asked = `Go back to before cell ${cell}? Variables are as they were then. Files, the network and tool calls are not undone.`;
  if (!(await confirm(asked, "Go back"))) return;
  await attempt(async () => {
    const { undone } = await post<{ undone: number[] }>(`${sessionPath(id)}/rewind`, { cell });
    notebook.value.mark(`the session went back to before cell ${cell}: ${undone.join(", ")} undone`);
    filesChanged.value++;
    say("");
  });
}

function States({ id }: { id: string }): JSX.Element | null {
  useEffect(() => {
    states.value = [];
    void listStates(id);
  }, [id, filesChanged.value]);
  if (states.value.length === 0) return null;
  return (
    <section aria-label="States that are kept">
      <h2>Go back</h2>
      <ul class="list">
        {states.value.map(({ cell, memory }) => (
          <li key={cell}>
            <Button icon="again" text label={`to before cell ${cell}`} kind="plain" onClick={() => void rewind(id, cell)} />
            <span class="faint">{bytes(memory)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

// ---- the panel ----

async function saveNotebook(format: "ipynb" | "py"): Promise<void> {
  await attempt(async () => {
    const answer = await ask("GET", `${sessionPath(sessionId.value)}/notebook${format === "py" ? "?format=py" : ""}`);
    save([await answer.blob()], `${sessionId.value}.${format}`);
  });
}

// Below a session are those that were forked from it; one whose session has ended stands alone.
function SessionRow({ one }: { one: Session }): JSX.Element {
  const here = one.id === sessionId.value;
  const branches = sessions.value.filter(({ forked_from }) => forked_from === one.id);
  return (
    <li>
      <div class={here ? "row here" : "row"}>
        <button type="button" class="name" aria-current={here ? "true" : undefined} onClick={() => openSession(one.id)}>
          <span class={`dot ${one.state}`} aria-hidden="true" />
          {visible(one.id)}
        </button>
        <span class="faint">{one.queued > 1 ? `${one.queued} cells` : STATES[one.state]}</span>
        {one.id !== "default" && <Button icon="close" label={`End the session ${one.id}`} onClick={() => void end(one.id)} />}
      </div>
      {branches.length > 0 && (
        <ul class="list branches" aria-label={`Branches of ${one.id}`}>
          {branches.map((branch) => (
            <SessionRow key={branch.id} one={branch} />
          ))}
        </ul>
      )}
    </li>
  );
}

const limitText = (limits: Record<string, number>): string =>
  Object.entries(limits)
    .map(([name, value]) => `${name} ${value.toLocaleString()}`)
    .join(", ");

export function SessionsPanel(): JSX.Element {
  const shown = session.value;
  return (
    <>
      <ul class="list" id="sessions" aria-label="Sessions">
        {sessions.value
          .filter(({ forked_from }) => !forked_from || !sessions.value.some(({ id }) => id === forked_from))
          .map((one) => (
            <SessionRow key={one.id} one={one} />
          ))}
      </ul>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          const id = String(new FormData(form).get("id"));
          void createSession(id ? { id } : {}).then((made) => made && form.reset());
        }}
      >
        <input
          name="id"
          id="new-id"
          class="grow"
          maxLength={64}
          pattern="[A-Za-z0-9_\-][A-Za-z0-9._\-]*"
          placeholder="name of a new session"
          aria-label="Name of a new session"
          autocomplete="off"
          spellcheck={false}
        />
        <button class="button plain">Create</button>
      </form>
      {shown && (
        <section aria-label="The session that is shown">
          <h2>{visible(shown.id)}</h2>
          <dl class="facts">
            <dt>since</dt>
            <dd>{new Date(shown.created_ms).toLocaleString()}</dd>
            {shown.forked_from && (
              <>
                <dt>forked from</dt>
                <dd>{visible(shown.forked_from)}</dd>
              </>
            )}
            <dt>works in</dt>
            <dd>
              <code>{visible(shown.cwd)}</code>
            </dd>
            <dt>a cell may run</dt>
            <dd>{duration(shown.timeout_ms)}</dd>
            <dt>ends unused after</dt>
            <dd>{shown.idle_timeout_ms > 0 ? duration(shown.idle_timeout_ms) : "it stays"}</dd>
            {Object.keys(shown.limits).length > 0 && (
              <>
                <dt>limits</dt>
                <dd>{limitText(shown.limits)}</dd>
              </>
            )}
          </dl>
          <div class="column">
            <Button icon="fork" text label="Fork" kind="plain" onClick={() => void fork()} />
            <Button icon="again" text label="New kernel" kind="plain" onClick={() => void reset()} />
            <Button icon="down" text label="Save as a notebook" kind="plain" onClick={() => void saveNotebook("ipynb")} />
            <Button icon="down" text label="Save as a script" kind="plain" onClick={() => void saveNotebook("py")} />
          </div>
          <States id={shown.id} />
        </section>
      )}
    </>
  );
}
