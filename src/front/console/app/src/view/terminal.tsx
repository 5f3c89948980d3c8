// SPDX-License-Identifier: Apache-2.0
//
// A shell in the session, for administrators: a command of it, behind its sandbox. What it writes is drawn in a frame
// without an origin (frame/terminal.ts); the page carries bytes. The shell ends with its socket.

import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { openSocket, sessionPath } from "../api";
import { role, sessionId, sessions } from "../state";
import { visible } from "../text";
import { dark } from "../theme";
import { openLink } from "./frame";
import { Button, confirm } from "./ui";

const DRAWN_LATE_MAX = 4_000_000; // bytes that wait to be drawn; more are left out
const KEPT_MAX = 256 * 1024; // bytes that are drawn when the frame is ready for them
const EARLY_MAX = 64; // messages of what is typed before the shell is there
const PIECE = 32_000; // bytes of what is pasted; the server takes 64 Ki in a message
const SIDE_MAX = 1000;

export const terminals = signal<string[]>([]); // sessions that have one open

export const mayOpen = (): boolean => role.value === "admin";
effect(() => {
  if (!mayOpen()) terminals.value = []; // signed out: none is opened by itself later
});

export function toggleTerminal(): void {
  const id = sessionId.value;
  if (!terminals.value.includes(id)) terminals.value = [...terminals.value, id];
  else document.querySelector<HTMLIFrameElement>(".terminal:not([hidden]) iframe")?.focus();
}

const close = (id: string): void => {
  terminals.value = terminals.value.filter((one) => one !== id);
};

interface Said {
  ready?: unknown;
  input?: unknown;
  columns?: unknown;
  rows?: unknown;
  taken?: unknown;
  leave?: unknown;
  link?: unknown;
}

const side = (value: unknown): number => Math.min(Math.max(Math.floor(Number(value)) || 1, 1), SIDE_MAX);

interface Exit {
  code?: number;
  signal?: number;
  reason?: string;
}

const endOf = ({ code, signal, reason }: Exit): string => reason ?? (signal ? `ended by signal ${signal}` : `ended with status ${code}`);

// Carries bytes between one frame and one socket, until it is stopped.
function connect(id: string, frame: HTMLIFrameElement, ended: (why: string) => void): () => void {
  const to = frame.contentWindow as Window;
  const order = (message: unknown): void => to.postMessage(message, "*");
  const coder = new TextEncoder();
  let socket: WebSocket | null = null;
  let waiting = 0;
  let late: ArrayBuffer[] = []; // the newest of what comes faster than it is drawn
  let kept = 0; // bytes of these
  let left = 0; // bytes that were left out
  const draw = (data: ArrayBuffer): void => {
    waiting += data.byteLength;
    order({ output: data });
  };
  const keep = (data: ArrayBuffer): void => {
    late.push(data);
    kept += data.byteLength;
    while (kept > KEPT_MAX && late.length > 1) {
      const size = late.shift()?.byteLength ?? 0;
      kept -= size;
      left += size;
    }
  };
  const drawLate = (): void => {
    if (left > 0) order({ say: `${left} bytes are left out here` });
    for (const data of late) draw(data);
    late = [];
    kept = left = 0;
  };
  const early: Uint8Array<ArrayBuffer>[] = [];
  const send = (message: string | Uint8Array<ArrayBuffer>): void => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(message);
    else if (socket?.readyState === WebSocket.CONNECTING && typeof message !== "string" && early.length < EARLY_MAX) early.push(message);
  };
  let size = "";
  const open = (): void => {
    socket = openSocket(`${sessionPath(id)}/terminal`);
    let why = "";
    socket.onopen = () => {
      send(size);
      for (const typed of early) send(typed);
      order({ focus: true });
    };
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
      if (typeof data === "string") {
        why = endOf((JSON.parse(data) as { exit: Exit }).exit);
      } else if (late.length > 0 || waiting > DRAWN_LATE_MAX) {
        keep(data);
      } else {
        draw(data);
      }
    };
    socket.onclose = ({ reason }) => {
      drawLate();
      const text = `The shell has ${why || `ended: ${reason || "the server does not give it, or the connection broke"}`}`;
      order({ say: visible(text) });
      ended(text);
    };
  };
  const hear = ({ source, data }: MessageEvent<Said | null>): void => {
    if (source !== to || !data) return;
    if (data.columns !== undefined) send((size = JSON.stringify({ columns: side(data.columns), rows: side(data.rows) })));
    if (data.ready && !socket) {
      order({ dark: dark.value });
      open();
    }
    if (typeof data.input === "string") {
      const typed = coder.encode(data.input);
      for (let at = 0; at < typed.length; at += PIECE) send(typed.subarray(at, at + PIECE));
    }
    if (typeof data.taken === "number") {
      waiting -= data.taken;
      if (late.length > 0 && waiting < DRAWN_LATE_MAX / 2) drawLate();
    }
    if (data.leave) document.querySelector<HTMLButtonElement>(".terminal:not([hidden]) button")?.focus();
    if (typeof data.link === "string") void openLink(data.link);
  };
  window.addEventListener("message", hear);
  const unwatch = dark.subscribe((is) => order({ dark: is }));
  return () => {
    unwatch();
    window.removeEventListener("message", hear);
    if (socket) socket.onclose = null;
    socket?.close();
  };
}

function Terminal({ id }: { id: string }): JSX.Element {
  const frame = useRef<HTMLIFrameElement>(null);
  const [ended, setEnded] = useState("");
  const [turn, setTurn] = useState(0);
  useEffect(() => connect(id, frame.current as HTMLIFrameElement, setEnded), [turn]);
  const end = async (): Promise<void> => {
    if (ended || (await confirm(`Close the terminal of ${id}? What runs in it is ended.`, "Close it"))) close(id);
  };
  return (
    <section class="terminal" hidden={id !== sessionId.value} aria-label={`Terminal of ${id}`}>
      <div class="row bar">
        <h2>Terminal</h2>
        <span class="faint grow" role="status">{ended ? visible(ended) : "F6 leaves it, Tab is the shell's"}</span>
        {ended && (
          <Button
            icon="again"
            text
            kind="plain"
            label="Start another shell"
            onClick={() => {
              setEnded("");
              setTurn(turn + 1);
            }}
          />
        )}
        <Button icon="close" label="Close the terminal" onClick={() => void end()} />
      </div>
      <iframe key={turn} ref={frame} title={`Terminal of ${id}`} sandbox="allow-scripts" src="console/terminal.html" />
    </section>
  );
}

export function Terminals(): JSX.Element | null {
  if (!mayOpen()) return null;
  const there = terminals.value.filter((id) => sessions.value.some((one) => one.id === id));
  return (
    <>
      {there.map((id) => (
        <Terminal key={id} id={id} />
      ))}
    </>
  );
}
