// SPDX-License-Identifier: Apache-2.0
//
// What the page knows: who is signed in, what the server says of itself, sessions, approvals, the session that is shown.

import { computed, signal } from "@preact/signals";
import { ask, follow, get, getToken, post, Refused, sessionPath, setToken, Unreachable } from "./api";
import { type Cell, Notebook } from "./cells";
import { messageOf } from "./text";
import type { Approval, Health, Session } from "./types";

const POLL_MS = 2000;

export type Role = "admin" | "execute" | "approve" | "none";

export const signedIn = signal<"unknown" | "yes" | "no">("unknown");
export const signInNote = signal("");
export const role = signal<Role>("none");
export const online = signal(true);
export const health = signal<Health | null>(null);
export const sessions = signal<Session[]>([]);
export const sessionId = signal("");
export const session = computed(() => sessions.value.find(({ id }) => id === sessionId.value) ?? null);
export const notebook = signal(new Notebook());
export const waiting = signal<{ id: string; code: string }[]>([]); // cells of this page that have not begun
export const approvals = signal<Approval[]>([]);
export const filesChanged = signal(0); // a cell has ended: listings may be old

export interface Note {
  text: string;
  bad: boolean;
}
export const note = signal<Note>({ text: "", bad: false });

export function say(text: string, bad = false): void {
  note.value = { text, bad };
}

// Does it, and tells a failure in the status line.
export async function attempt(what: () => Promise<unknown>): Promise<boolean> {
  try {
    await what();
    return true;
  } catch (e) {
    if (!(e instanceof DOMException && e.name === "AbortError")) say(messageOf(e), true);
    return false;
  }
}

let streams = new AbortController();
let sessionStream = new AbortController();
let poll = 0;

export const mayRun = computed(() => role.value === "admin" || role.value === "execute");
export const mayApprove = computed(() => role.value === "admin" || role.value === "approve");

async function allowed(path: string): Promise<boolean> {
  try {
    await get(path);
    return true;
  } catch (e) {
    if (e instanceof Refused && (e.status === 401 || e.status === 403)) return false;
    throw e;
  }
}

// Which role the token has, by what it may read; a wrong token fails all of them.
async function findRole(): Promise<Role> {
  const runs = await allowed("v1/sessions");
  const approves = await allowed("v1/approvals");
  if (runs) return approves ? "admin" : "execute";
  return approves ? "approve" : "none";
}

export async function start(): Promise<void> {
  streams.abort();
  streams = new AbortController();
  window.clearTimeout(poll);
  try {
    health.value = await get<Health>("livez");
    online.value = true;
    role.value = await findRole();
  } catch (e) {
    if (e instanceof Refused && (e.status === 429 || e.status === 401)) return needToken(e.message);
    online.value = !(e instanceof Unreachable);
    say(messageOf(e), true);
    poll = window.setTimeout(() => void start(), POLL_MS);
    return;
  }
  if (role.value === "none") return needToken(getToken() ? "The server does not know this token." : "");
  signedIn.value = "yes";
  say("");
  if (mayApprove.value) void followApprovals(streams.signal);
  if (mayRun.value) await refresh();
}

function needToken(why: string): void {
  streams.abort();
  sessionStream.abort();
  signedIn.value = "no";
  signInNote.value = why;
  sessionId.value = "";
}

export function signIn(token: string): void {
  setToken(token);
  signInNote.value = "";
  void start();
}

export function signOut(): void {
  window.clearTimeout(poll);
  setToken("");
  sessionStorage.clear(); // what was typed, too
  sessions.value = [];
  approvals.value = [];
  notebook.value = new Notebook();
  role.value = "none";
  needToken("");
}

// ---- sessions ----

let newest = 0; // refresh: what an older one brings late is out of date

export async function refresh(): Promise<void> {
  const turn = ++newest;
  window.clearTimeout(poll);
  try {
    const list = await get<{ sessions: Session[] }>("v1/sessions");
    const now = await get<Health>("livez");
    if (turn !== newest) return;
    online.value = true;
    sessions.value = list.sessions;
    health.value = now;
    const asked = decodeURIComponent(location.hash.slice(1)).split("/")[0] ?? "";
    const known = (id: string): boolean => list.sessions.some((one) => one.id === id);
    if (!known(sessionId.value)) {
      const first = known(asked) ? asked : (list.sessions[0]?.id ?? "");
      if (first && first !== sessionId.value) openSession(first);
    }
  } catch (e) {
    if (turn !== newest) return;
    if (e instanceof Refused && e.status === 401) return needToken("The token is no longer known to the server.");
    online.value = !(e instanceof Unreachable);
  }
  if (signedIn.value === "yes") poll = window.setTimeout(() => void refresh(), POLL_MS);
}

export function openSession(id: string): void {
  if (id === sessionId.value) return;
  sessionStream.abort();
  sessionStream = new AbortController();
  const { signal } = sessionStream;
  sessionId.value = id;
  waiting.value = [];
  const wanted = decodeURIComponent(location.hash.slice(1)).split("/");
  if (wanted[0] !== id) history.replaceState(null, "", `#${encodeURIComponent(id)}`);
  const made = new Notebook();
  made.onBegin = dropWaiting;
  made.onEnd = () => {
    filesChanged.value++;
  };
  notebook.value = made;
  let closed = false; // the session has ended, or the server stops and may come back
  void follow(`${sessionPath(id)}/events`, signal, {
    event: (type, data) => {
      made.event(type, data);
      closed = type === "closed";
    },
    connected: (is) => {
      if (!is) made.lose("the connection to the server broke");
    },
    refused: (why) => {
      if (!closed) made.mark(why.message, true);
    },
  });
}

function dropWaiting(cell: Cell): void {
  const at = waiting.value.findIndex(({ code }) => code === cell.code);
  if (at >= 0) waiting.value = waiting.value.filter((_, i) => i !== at);
}

export async function run(code: string): Promise<boolean> {
  const id = sessionId.value;
  return attempt(async () => {
    const made = await post<{ id: string }>(`${sessionPath(id)}/executions`, { code, wait: false });
    const begun = notebook.value.items.some((item) => item.kind === "cell" && item.endedMs === 0 && item.code === code);
    if (!begun && id === sessionId.value) waiting.value = [...waiting.value, { id: made.id, code }];
    await settleWaiting();
    say("");
  });
}

// A short cell may have begun and ended before its POST was answered.
async function settleWaiting(): Promise<void> {
  for (const { id } of waiting.value) {
    const { status } = await get<{ status: string }>(`${sessionPath(sessionId.value)}/executions/${id}`);
    if (status !== "queued") waiting.value = waiting.value.filter((one) => one.id !== id);
  }
}

export const withdraw = (id: string): Promise<boolean> =>
  attempt(async () => {
    await ask("DELETE", `${sessionPath(sessionId.value)}/executions/${id}`);
    waiting.value = waiting.value.filter((one) => one.id !== id);
  });

export const interrupt = (): Promise<boolean> =>
  attempt(async () => {
    const here = sessionPath(sessionId.value);
    const { executions } = await get<{ executions: { id: string; status: string }[] }>(`${here}/executions`);
    const running = executions.find(({ status }) => status === "running");
    if (running) await ask("POST", `${here}/executions/${running.id}/interrupt`);
    else say("Nothing runs that could be interrupted here.");
  });

export const newKernel = (): Promise<boolean> =>
  attempt(async () => {
    waiting.value = [];
    await ask("POST", `${sessionPath(sessionId.value)}/reset`);
  });

export const endSession = (id: string): Promise<boolean> =>
  attempt(async () => {
    await ask("DELETE", sessionPath(id));
    await refresh();
  });

export const createSession = (body: Record<string, unknown>): Promise<boolean> =>
  attempt(async () => {
    const made = await post<Session>("v1/sessions", body);
    await refresh();
    openSession(made.id);
  });

// ---- approvals ----

function followApprovals(signal: AbortSignal): Promise<void> {
  return follow("v1/approvals", signal, {
    event: (type, data) => {
      if (type === "asked") {
        const asked = { ...(data as unknown as Approval) };
        const ends = asked.expires_in_ms === undefined ? {} : { endsAt: Date.now() + asked.expires_in_ms };
        const others = approvals.value.filter(({ id }) => id !== asked.id);
        approvals.value = [...others, { ...asked, ...ends }];
      }
      if (type === "settled") {
        approvals.value = approvals.value.filter(({ id }) => id !== data.id);
        settled.value = { id: String(data.id), outcome: String(data.outcome) };
      }
    },
    connected: (is) => {
      online.value = is;
      approvals.value = [];
    },
    refused: (why) => say(why.message, true),
  });
}

export const settled = signal<{ id: string; outcome: string } | null>(null);

export async function decide(approval: Approval, body: Record<string, unknown>): Promise<boolean> {
  try {
    await ask("POST", `v1/approvals/${encodeURIComponent(approval.id)}`, { body });
    approvals.value = approvals.value.filter(({ id }) => id !== approval.id);
    return true;
  } catch (e) {
    if (e instanceof Refused && (e.status === 404 || e.status === 409 || e.status === 410))
      say(`It was decided elsewhere, or its time is over: ${e.message}`, true);
    else say(messageOf(e), true);
    return false;
  }
}
