// SPDX-License-Identifier: Apache-2.0
//
// What a session has run, built from its events: cells with code and outputs, and marks between them.
//
// The list grows by events alone, whoever ran the cell. A view is told at most once in a frame of the browser, by the
// signal `version` of the cell that changed or of the list. Limits: CELLS_MAX cells stay, the oldest go and are counted;
// a stream keeps what screen.ts keeps.

import { type Signal, signal } from "@preact/signals";
import { Screen } from "./screen";
import { joined } from "./text";
import type { Bundle } from "./types";

export const CELLS_MAX = 20_000;

export type Output =
  | { kind: "stream"; name: "stdout" | "stderr"; screen: Screen; late: boolean }
  | { kind: "bundle"; data: Bundle; displayId: string; result: boolean }
  | { kind: "error"; name: string; value: string; traceback: string }
  | { kind: "progress"; call: string; text: string; part: number | null };

export interface Cell {
  kind: "cell";
  number: number;
  code: string;
  truncated: boolean;
  client: string;
  state: string; // "running", or how it ended
  reason: string;
  beganMs: number;
  endedMs: number; // 0: it runs
  outputs: Output[];
  clearNext: boolean;
  version: Signal<number>;
}

export interface Mark {
  kind: "mark";
  text: string;
  bad: boolean;
}

export type Item = Cell | Mark;

type Data = Record<string, unknown>;

const text = (value: unknown): string => (typeof value === "string" ? value : "");

export class Notebook {
  items: Item[] = [];
  dropped = 0;
  readonly version = signal(0);
  readonly running = signal<Cell | null>(null);
  private readonly byNumber = new Map<number, Cell>();
  private readonly changed = new Set<Signal<number>>();
  private frame = 0;

  // A cell began; `ended`: one ended. For who shows files, waiting cells and the like.
  onBegin: (cell: Cell) => void = () => {};
  onEnd: (cell: Cell) => void = () => {};

  private touch(what: Signal<number>): void {
    this.changed.add(what);
    if (this.frame) return;
    // A page in the background gets no frames, but must not fall behind either.
    const tell = (): void => {
      this.frame = 0;
      const now = [...this.changed];
      this.changed.clear();
      for (const one of now) one.value++;
    };
    this.frame = document.hidden ? window.setTimeout(tell, 200) : requestAnimationFrame(tell);
  }

  clear(): void {
    this.items = [];
    this.byNumber.clear();
    this.running.value = null;
    this.touch(this.version);
  }

  mark(what: string, bad = false): void {
    this.items.push({ kind: "mark", text: what, bad });
    this.touch(this.version);
  }

  // One event of the session's stream.
  event(type: string, data: Data): void {
    const handler = HANDLERS[type];
    if (handler) handler(this, data);
  }

  begin(data: Data): void {
    const cell = this.add(Number(data.cell), text(data.code), text(data.client), Number(data.time_ms));
    cell.truncated = data.truncated === true;
    this.running.value = cell;
    this.onBegin(cell);
  }

  private add(number: number, code: string, client: string, beganMs: number): Cell {
    const cell: Cell = {
      kind: "cell",
      number,
      code,
      truncated: false,
      client,
      state: "running",
      reason: "",
      beganMs,
      endedMs: 0,
      outputs: [],
      clearNext: false,
      version: signal(0),
    };
    this.items.push(cell);
    this.byNumber.set(number, cell);
    if (this.items.length > CELLS_MAX) {
      const gone = this.items.shift();
      if (gone?.kind === "cell") this.byNumber.delete(gone.number);
      this.dropped++;
    }
    this.touch(this.version);
    return cell;
  }

  // Of a cell whose beginning is no longer kept there is no code.
  private cellOf(data: Data): Cell {
    const number = Number(data.cell);
    const known = this.byNumber.get(number);
    if (known) return known;
    const made = this.add(number, "", "", Number(data.time_ms));
    made.state = "";
    return made;
  }

  output(data: Data, output: Output): void {
    const cell = this.cellOf(data);
    if (cell.clearNext) {
      cell.outputs = [];
      cell.clearNext = false;
    }
    cell.outputs.push(output);
    this.touch(cell.version);
  }

  stream(data: Data, name: "stdout" | "stderr"): void {
    const cell = this.cellOf(data);
    const late = data.late === true;
    const last = cell.clearNext ? undefined : cell.outputs.at(-1);
    if (last?.kind === "stream" && last.name === name && last.late === late) {
      last.screen.write(text(data.text));
      this.touch(cell.version);
      return;
    }
    const screen = new Screen();
    screen.write(text(data.text));
    this.output(data, { kind: "stream", name, screen, late });
  }

  bundle(data: Data, result: boolean): void {
    const transient = data.transient as { display_id?: string } | undefined;
    this.output(data, {
      kind: "bundle",
      data: (data.data as Bundle | undefined) ?? {},
      displayId: transient?.display_id ?? "",
      result,
    });
  }

  // A display that was made in any cell is replaced where it stands.
  update(data: Data): void {
    const id = (data.transient as { display_id?: string } | undefined)?.display_id;
    if (!id) return;
    for (const item of this.items) {
      if (item.kind !== "cell") continue;
      for (const [i, output] of item.outputs.entries()) {
        if (output.kind !== "bundle" || output.displayId !== id) continue;
        item.outputs[i] = { ...output, data: (data.data as Bundle | undefined) ?? {} };
        this.touch(item.version);
      }
    }
  }

  clearOutput(data: Data): void {
    const cell = this.cellOf(data);
    if (data.wait === true) cell.clearNext = true;
    else cell.outputs = [];
    this.touch(cell.version);
  }

  // One line for each call of a tool.
  progress(data: Data): void {
    const cell = this.cellOf(data);
    const call = String(data.call);
    const total = Number(data.total);
    const part = total > 0 ? Number(data.progress) / total : null;
    const how = total > 0 ? `${data.progress} of ${data.total}` : String(data.progress);
    const words = `${data.server}.${data.tool}: ${how} ${text(data.message)}`;
    const output: Output = { kind: "progress", call, text: words, part };
    const at = cell.outputs.findIndex((one) => one.kind === "progress" && one.call === call);
    if (at < 0) this.output(data, output);
    else cell.outputs[at] = output;
    this.touch(cell.version);
  }

  end(data: Data): void {
    const cell = this.cellOf(data);
    cell.state = text(data.status);
    cell.reason = text(data.reason);
    cell.endedMs = Number(data.time_ms);
    if (this.running.value === cell) this.running.value = null;
    this.touch(cell.version);
    this.onEnd(cell);
  }

  // The kernel or the server is gone: what ran does not end by itself.
  lose(why: string): void {
    const cell = this.running.value;
    if (!cell) return;
    cell.state = "lost";
    cell.reason = why;
    cell.endedMs = Date.now();
    this.running.value = null;
    this.touch(cell.version);
  }
}

const KERNEL_TEXTS: Record<string, string> = {
  ready: "The kernel is ready",
  lost: "The kernel has died",
  replaced: "A new kernel serves from here: variables are gone",
};

const HANDLERS: Record<string, (notebook: Notebook, data: Data) => void> = {
  begin: (notebook, data) => notebook.begin(data),
  stdout: (notebook, data) => notebook.stream(data, "stdout"),
  stderr: (notebook, data) => notebook.stream(data, "stderr"),
  display: (notebook, data) => notebook.bundle(data, false),
  result: (notebook, data) => notebook.bundle(data, true),
  update: (notebook, data) => notebook.update(data),
  clear: (notebook, data) => notebook.clearOutput(data),
  progress: (notebook, data) => notebook.progress(data),
  end: (notebook, data) => notebook.end(data),
  error: (notebook, data) =>
    notebook.output(data, {
      kind: "error",
      name: text(data.ename),
      value: text(data.evalue),
      traceback: Array.isArray(data.traceback) ? data.traceback.join("\n") : joined(data.traceback),
    }),
  kernel: (notebook, data) => {
    const reason = text(data.reason);
    notebook.mark((KERNEL_TEXTS[text(data.state)] ?? text(data.state)) + (reason ? `: ${reason}` : ""), data.state === "lost");
  },
  gap: (notebook, data) => notebook.mark(`${data.missed} events are no longer kept`, true),
  reset: (notebook) => {
    notebook.lose("the server was started anew");
    notebook.mark("The server was started anew: what it has of this session follows", true);
  },
  closed: (notebook, data) => notebook.mark(`The end: ${text(data.reason) || "the session has ended"}`),
};
