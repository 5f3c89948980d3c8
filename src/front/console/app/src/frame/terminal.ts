// SPDX-License-Identifier: Apache-2.0
//
// Runs inside the frame of a terminal: what programs write is drawn here, without an origin or a network. To the page go
// what is typed, the size, how much was drawn, and links.

import { FitAddon } from "@xterm/addon-fit";
import { type ITheme, Terminal } from "@xterm/xterm";

type Order = { dark?: boolean; output?: ArrayBuffer; say?: string; focus?: true };

const LIGHT: ITheme = {
  background: "#ffffff", foreground: "#1f2328", cursor: "#0b5fd0", cursorAccent: "#ffffff", selectionBackground: "#cfe3ff",
  black: "#1f2328", red: "#b3261e", green: "#1a7f37", yellow: "#8a5a00", blue: "#0b5fd0", magenta: "#8b2bb3", cyan: "#0f6f80", white: "#59636e",
  brightBlack: "#59636e", brightRed: "#b3261e", brightGreen: "#1a7f37", brightYellow: "#8a5a00", brightBlue: "#0b5fd0",
  brightMagenta: "#8b2bb3", brightCyan: "#0f6f80", brightWhite: "#1f2328",
};
const DARK: ITheme = {
  background: "#12161b", foreground: "#e6e8eb", cursor: "#6cb0ff", cursorAccent: "#08111d", selectionBackground: "#24466f",
  black: "#9aa5b1", red: "#ff8f85", green: "#62d27e", yellow: "#f0c65a", blue: "#8ec2ff", magenta: "#d7a1f5", cyan: "#7fd8e6", white: "#e6e8eb",
  brightBlack: "#9aa5b1", brightRed: "#ff8f85", brightGreen: "#62d27e", brightYellow: "#f0c65a", brightBlue: "#8ec2ff",
  brightMagenta: "#d7a1f5", brightCyan: "#7fd8e6", brightWhite: "#ffffff",
};

const tell = (message: unknown): void => parent.postMessage(message, "*");

const terminal = new Terminal({
  cursorBlink: true,
  fontFamily: 'ui-monospace, "SF Mono", "Cascadia Code", "DejaVu Sans Mono", monospace',
  fontSize: 13,
  screenReaderMode: true,
  scrollback: 5000,
  linkHandler: { activate: (_event, link) => tell({ link }) },
});
const fit = new FitAddon();
terminal.loadAddon(fit);
terminal.open(document.getElementById("terminal") as HTMLElement);
terminal.onData((input) => tell({ input }));
terminal.onBinary((input) => tell({ input }));
terminal.onResize(({ cols, rows }) => tell({ columns: cols, rows }));
terminal.attachCustomKeyEventHandler((event) => {
  if (event.key !== "F6") return true; // Tab belongs to the shell
  event.preventDefault();
  if (event.type === "keydown") tell({ leave: true });
  return false;
});

addEventListener("message", (event: MessageEvent<Order>) => {
  if (event.source !== parent) return;
  const { dark, output, say, focus } = event.data;
  if (dark !== undefined) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    terminal.options.theme = dark ? DARK : LIGHT;
  }
  if (output) terminal.write(new Uint8Array(output), () => tell({ taken: output.byteLength }));
  if (say) terminal.write(`\r\n\u001b[2m[${say}]\u001b[0m\r\n`);
  if (focus) terminal.focus();
});

addEventListener("focus", () => terminal.focus()); // the frame got it, by Tab or by the page

// Keys may come before that event: the browser tells two processes who has the focus. The terminal gets those, too.
addEventListener(
  "keydown",
  (event) => {
    const box = terminal.textarea;
    if (!box || event.target === box || event.defaultPrevented) return;
    terminal.focus();
    if (!box.dispatchEvent(new KeyboardEvent("keydown", event))) event.preventDefault();
  },
  true,
);
new ResizeObserver(() => fit.fit()).observe(document.body);
fit.fit();
tell({ ready: true, columns: terminal.cols, rows: terminal.rows });
