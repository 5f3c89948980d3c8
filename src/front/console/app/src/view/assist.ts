// SPDX-License-Identifier: Apache-2.0
//
// What the kernel knows, beside the code that is written: proposals while one types, and what a name is, on hover or
// with Ctrl+I. While a cell runs the kernel does not answer; then the words of the code itself are proposed.

import { closeCompletion, type Completion, type CompletionContext, type CompletionResult, completionStatus } from "@codemirror/autocomplete";
import { globalCompletion, localCompletionSource } from "@codemirror/lang-python";
import { type EditorState, type Extension, StateEffect, StateField } from "@codemirror/state";
import { type EditorView, hoverTooltip, keymap, showTooltip, type Tooltip } from "@codemirror/view";
import { ask, sessionPath } from "../api";
import { notebook, sessionId } from "../state";

const CODE_MAX = 200_000;
const SHOWN_MAX = 6000; // characters of what is told of a name

interface CompletionDocument {
  start: number;
  end: number;
  matches: { text: string; type?: string }[];
}

// The API counts characters, CodeMirror units of UTF-16.
const charactersIn = (text: string): number => [...text].length;
const unitsOf = (text: string, characters: number): number => [...text].slice(0, characters).join("").length;

async function question<T>(kind: "complete" | "inspect", state: EditorState, pos: number, signal: AbortSignal): Promise<T | null> {
  const code = state.doc.toString();
  if (code.length > CODE_MAX || notebook.value.running.value !== null) return null;
  const body = { code, cursor: charactersIn(code.slice(0, pos)) };
  try {
    return (await (await ask("POST", `${sessionPath(sessionId.value)}/${kind}`, { body, signal })).json()) as T;
  } catch {
    return null; // a cell has begun meanwhile, say: typing goes on without it
  }
}

const TYPES: Record<string, string> = { instance: "variable", statement: "variable", module: "namespace", path: "text", magic: "keyword", param: "property" };

function optionsOf(found: CompletionDocument): Completion[] {
  return found.matches.map(({ text, type }, i) => ({
    label: text,
    boost: -i / 1000, // the kernel's order decides between equals
    ...(type && type !== "<unknown>" && { type: TYPES[type] ?? type }),
  }));
}

export async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const word = context.matchBefore(/[\w.%]+$/);
  if (!word && !context.explicit) return null;
  const gone = new AbortController();
  context.addEventListener("abort", () => gone.abort());
  const found = await question<CompletionDocument>("complete", context.state, context.pos, gone.signal);
  if (context.aborted) return null;
  if (!found) return (await localCompletionSource(context)) ?? globalCompletion(context);
  const code = context.state.doc.toString();
  if (found.matches.length === 0) return null;
  return { from: unitsOf(code, found.start), to: unitsOf(code, found.end), options: optionsOf(found), validFor: /^\w*$/ };
}

// ---- what a name is ----

function showText(text: string): HTMLElement {
  const box = document.createElement("div");
  const shown = document.createElement("pre");
  box.className = "inspection";
  shown.textContent = text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
  shown.tabIndex = 0;
  box.append(shown);
  return box;
}

async function inspect(state: EditorState, pos: number): Promise<Tooltip | null> {
  const word = state.wordAt(pos);
  if (!word) return null;
  const found = await question<{ found: boolean; text: string }>("inspect", state, pos, new AbortController().signal);
  if (!found?.found || !found.text) return null;
  return { pos: word.from, end: word.to, above: true, create: () => ({ dom: showText(found.text) }) };
}

const setTold = StateEffect.define<Tooltip | null>();
const told = StateField.define<Tooltip | null>({
  create: () => null,
  update: (shown, change) => {
    for (const effect of change.effects) if (effect.is(setTold)) return effect.value;
    return change.docChanged || change.selection ? null : shown;
  },
  provide: (field) => showTooltip.from(field),
});

function tell(view: EditorView): boolean {
  closeCompletion(view);
  const { state } = view;
  void inspect(state, state.selection.main.head).then((found) => {
    if (view.state.doc.eq(state.doc) && view.state.selection.eq(state.selection)) view.dispatch({ effects: setTold.of(found) });
  });
  return true;
}

function hush(view: EditorView): boolean {
  if (completionStatus(view.state) !== null || view.state.field(told) === null) return false;
  view.dispatch({ effects: setTold.of(null) });
  return true;
}

export const inspection: Extension = [
  told,
  hoverTooltip((view, pos) => inspect(view.state, pos), { hoverTime: 500 }),
  keymap.of([
    { key: "Mod-i", run: tell, preventDefault: true },
    { key: "Escape", run: hush },
  ]),
];
