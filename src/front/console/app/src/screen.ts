// SPDX-License-Identifier: Apache-2.0
//
// Text that a program writes to a terminal, as lines: carriage return, backspace, "erase to the end of the line" and
// "cursor up" are carried out, so that a progress bar stays one line. Colours stay in the text (SGR sequences) and are
// read when it is shown. Lines beyond MAX_LINES or MAX_CHARS go, the oldest first, and are counted.

export const MAX_LINES = 10_000;
export const MAX_CHARS = 2_000_000;
const SLACK = 1.2;
const LIVE_LINES = 50; // from the end, which "cursor up" can reach

// A character with the SGR sequences that are in force at it.
type Line = { character: string; style: string }[];

const PIECE = /\u001b\[([0-9;?]*)([A-Za-z])|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[^[\]]|[\s\S]/gu;
const PLAIN = /^[^\r\b\u001b]*$/;

const RESET = "\u001b[0m";

function textOf(line: Line): string {
  let style = "";
  let text = "";
  for (const one of line) {
    if (one.style !== style) text += (style ? RESET : "") + one.style;
    style = one.style;
    text += one.character;
  }
  return style ? text + RESET : text;
}

export class Screen {
  private done: string[] = []; // finished lines
  private live: Line[] = [[]]; // the last lines, which may still be written over
  private row = 0;
  private column = 0;
  private style = ""; // the sequences since the last reset
  private chars = 0;
  dropped = 0; // lines

  get lineCount(): number {
    return this.done.length + this.live.length;
  }

  // All that is kept, with its colours.
  lines(): string[] {
    return [...this.done, ...this.live.map(textOf)];
  }

  write(text: string): void {
    if (PLAIN.test(text) && this.atEnd()) this.append(text);
    else this.interpret(text);
    this.trim();
  }

  private atEnd(): boolean {
    return this.live.length === 1 && this.column === (this.live[0]?.length ?? 0) && this.style === "";
  }

  private append(text: string): void {
    const parts = text.split("\n");
    const plain = (part: string): Line => [...part].map((character) => ({ character, style: "" }));
    const line = this.live[0] as Line;
    line.push(...plain(parts[0] as string));
    if (parts.length > 1) {
      this.finish(textOf(line));
      for (const part of parts.slice(1, -1)) this.finish(part);
      this.live = [plain(parts.at(-1) as string)];
    }
    this.column = this.live[0]?.length ?? 0;
  }

  private finish(line: string): void {
    this.done.push(line);
    this.chars += line.length;
  }

  private interpret(text: string): void {
    for (const [piece, parameters, command] of text.matchAll(PIECE)) {
      if (piece === "\n") this.newLine();
      else if (piece === "\r") this.column = 0;
      else if (piece === "\b") this.column = Math.max(0, this.column - 1);
      else if (command === "m") this.style = /^0*$/.test(parameters ?? "") ? "" : this.style + piece;
      else if (command === "K") this.live[this.row]?.splice(this.column);
      else if (command === "A") this.row = Math.max(0, this.row - (Number(parameters) || 1));
      else if (command === "B") this.row = Math.min(this.live.length - 1, this.row + (Number(parameters) || 1));
      else if (!piece.startsWith("\u001b") && (piece >= " " || piece === "\t")) this.put(piece);
    }
  }

  private put(character: string): void {
    const line = this.live[this.row] as Line;
    while (line.length < this.column) line.push({ character: " ", style: "" });
    line[this.column++] = { character, style: this.style };
  }

  private newLine(): void {
    this.column = 0;
    this.row++;
    if (this.row === this.live.length) this.live.push([]);
    while (this.live.length > LIVE_LINES) {
      this.finish(textOf(this.live.shift() as Line));
      this.row = Math.max(0, this.row - 1);
    }
  }

  // Now and then, not for each line.
  private trim(): void {
    if (this.done.length <= MAX_LINES * SLACK && this.chars <= MAX_CHARS * SLACK) return;
    let drop = Math.max(0, this.done.length - MAX_LINES);
    for (const line of this.done.slice(0, drop)) this.chars -= line.length;
    while (this.chars > MAX_CHARS && drop < this.done.length) this.chars -= (this.done[drop++] as string).length;
    this.done.splice(0, drop);
    this.dropped += drop;
  }
}
