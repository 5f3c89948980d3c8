// SPDX-License-Identifier: Apache-2.0
//
// The server's HTTP API, as this page uses it: requests with the token, problem documents as errors, event streams.
// Addresses are relative to the page, so that it works below any path that a proxy gives it.

const TOKEN_KEY = "ipybox-token";
const RETRY_MS = 1000;
const CLIENT = "console"; // how its cells are marked for whoever watches

let token = sessionStorage.getItem(TOKEN_KEY) ?? "";

export const getToken = (): string => token;

export function setToken(value: string): void {
  token = value;
  if (value) sessionStorage.setItem(TOKEN_KEY, value);
  else sessionStorage.removeItem(TOKEN_KEY);
}

// The server has answered, with another status than 2xx. `status` is HTTP's.
export class Refused extends Error {
  constructor(
    readonly status: number,
    text: string,
  ) {
    super(text);
  }
}

// The server did not answer.
export class Unreachable extends Error {
  constructor() {
    super("The server does not answer.");
  }
}

export interface Ask {
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export function authorization(): Record<string, string> {
  return token ? { Authorization: `Bearer ${token}`, "Ipybox-Client": CLIENT } : { "Ipybox-Client": CLIENT };
}

export async function ask(method: string, path: string, more: Ask = {}): Promise<Response> {
  const headers: Record<string, string> = { ...authorization(), ...more.headers };
  if (more.body !== undefined) headers["Content-Type"] = "application/json";
  let answer: Response;
  try {
    answer = await fetch(path, {
      method,
      headers,
      cache: "no-store",
      credentials: "omit",
      ...(more.signal && { signal: more.signal }),
      ...(more.body !== undefined && { body: JSON.stringify(more.body) }),
    });
  } catch (e) {
    if (more.signal?.aborted) throw e;
    throw new Unreachable();
  }
  if (answer.ok) return answer;
  const problem = (await answer.json().catch(() => ({}))) as { detail?: string };
  throw new Refused(answer.status, String(problem.detail ?? answer.statusText));
}

export const get = async <T>(path: string, signal?: AbortSignal): Promise<T> =>
  (await ask("GET", path, signal ? { signal } : {})).json() as Promise<T>;

export const post = async <T>(path: string, body: unknown): Promise<T> => {
  const answer = await ask("POST", path, { body });
  return (answer.status === 204 ? undefined : await answer.json()) as T;
};

export const sessionPath = (id: string): string => `v1/sessions/${encodeURIComponent(id)}`;

// A WebSocket of the API. Browsers send no Authorization with one: the token goes as a subprotocol.
export function openSocket(path: string): WebSocket {
  const place = new URL(path, location.href);
  place.protocol = place.protocol.replace("http", "ws");
  const text = btoa(String.fromCharCode(...new TextEncoder().encode(token)));
  const coded = text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const socket = new WebSocket(place, token ? ["ipybox", `ipybox.bearer.${coded}`] : ["ipybox"]);
  socket.binaryType = "arraybuffer";
  return socket;
}

export interface ServerEvent {
  id: number; // 0: it has none
  type: string;
  data: string;
}

// Server-Sent Events, as far as this server writes them.
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const event: ServerEvent = { id: 0, type: "message", data: "" };
      for (const line of block.split("\n")) {
        const [, name, rest = ""] = /^([a-z]+): ?(.*)$/.exec(line) ?? [];
        if (name === "event") event.type = rest;
        if (name === "data") event.data += rest;
        if (name === "id") event.id = Number(rest);
      }
      if (event.data) yield event;
    }
  }
}

export interface Follower {
  event(type: string, data: Record<string, unknown>): void;
  // false: the stream broke, or the server is away; it is tried again.
  connected(is: boolean): void;
  // The server does not give the stream; nothing is tried again.
  refused(why: Refused): void;
}

// Follows a stream until `signal` is aborted, and takes it up where it broke.
export async function follow(path: string, signal: AbortSignal, follower: Follower): Promise<void> {
  let last = 0;
  while (!signal.aborted) {
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (last) headers["Last-Event-ID"] = String(last);
      const answer = await ask("GET", path, { signal, headers });
      follower.connected(true);
      for await (const event of readEvents(answer.body as ReadableStream<Uint8Array>)) {
        if (signal.aborted) return;
        last = event.id || last;
        follower.event(event.type, JSON.parse(event.data) as Record<string, unknown>);
      }
    } catch (e) {
      if (signal.aborted) return;
      if (e instanceof Refused && e.status !== 503 && e.status !== 429) {
        follower.refused(e);
        return;
      }
    }
    follower.connected(false);
    await new Promise((done) => setTimeout(done, RETRY_MS));
  }
}
