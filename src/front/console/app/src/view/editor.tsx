// SPDX-License-Identifier: Apache-2.0
//
// The box that cells are written in, and code as it is shown. CodeMirror stands in a shadow root: there its styles are
// constructed style sheets, which the page's policy allows, while <style> elements are not.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, completionStatus } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python, pythonLanguage } from "@codemirror/lang-python";
import { bracketMatching, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState, Prec } from "@codemirror/state";
import { drawSelection, EditorView, keymap, placeholder } from "@codemirror/view";
import { classHighlighter, highlightCode, tagHighlighter, tags } from "@lezer/highlight";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { complete, inspection } from "./assist";

const styles = EditorView.theme({
  "&": { fontSize: "13px", backgroundColor: "transparent", color: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", maxHeight: "40vh" },
  ".cm-content": { padding: "8px 0", caretColor: "var(--text)" },
  ".cm-line": { padding: "0 10px" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-placeholder": { color: "var(--faint)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection) !important" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", border: "1px solid var(--line)", color: "var(--text)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "14em", maxWidth: "min(90vw, 560px)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "2px 8px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--accent-text)" },
  ".inspection": { maxWidth: "min(90vw, 720px)" },
  ".inspection pre": { margin: "0", padding: "8px 12px", maxHeight: "40vh", overflow: "auto", whiteSpace: "pre-wrap", fontFamily: "var(--mono)", fontSize: "12.5px" },
  ".tok-keyword": { color: "var(--code-keyword)" },
  ".tok-string, .tok-string2": { color: "var(--code-string)" },
  ".tok-number, .tok-bool": { color: "var(--code-number)" },
  ".tok-comment": { color: "var(--faint)", fontStyle: "italic" },
  ".tok-definition, .tok-function": { color: "var(--code-name)" },
});

export interface EditorHandle {
  set(text: string): void;
}

interface EditorProps {
  label: string;
  initial: string;
  onChange: (text: string) => void;
  onRun: (text: string) => void;
  // The code before or after the one that is shown, or null: for Up on the first line and Down on the last.
  recall: (direction: -1 | 1) => string | null;
  opened: (editor: EditorHandle) => void;
  closed: (editor: EditorHandle) => void;
}

export function Editor(props: EditorProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const current = useRef(props);
  current.current = props;
  useEffect(() => {
    const element = host.current as HTMLDivElement;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open", delegatesFocus: true });
    const run = (view: EditorView): boolean => {
      current.current.onRun(view.state.doc.toString());
      return true;
    };
    const recall = (view: EditorView, direction: -1 | 1): boolean => {
      const { state } = view;
      if (completionStatus(state) === "active") return false; // the keys choose there
      const line = state.doc.lineAt(state.selection.main.head).number;
      if (!state.selection.main.empty || line !== (direction < 0 ? 1 : state.doc.lines)) return false;
      const text = current.current.recall(direction);
      if (text === null) return false;
      replace(view, text);
      return true;
    };
    const view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: props.initial,
        extensions: [
          Prec.highest(
            keymap.of([
              { key: "Mod-Enter", run },
              { key: "Ctrl-Enter", run },
              { key: "Shift-Enter", run },
              { key: "ArrowUp", run: (v) => recall(v, -1) },
              { key: "ArrowDown", run: (v) => recall(v, 1) },
            ]),
          ),
          history(),
          drawSelection(),
          indentUnit.of("    "),
          bracketMatching(),
          closeBrackets(),
          autocompletion({ override: [complete] }),
          inspection,
          python(),
          syntaxHighlighting(classHighlighter),
          placeholder("Python: Ctrl+Enter or Shift+Enter runs it"),
          keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, indentWithTab, ...defaultKeymap]),
          EditorView.contentAttributes.of({ "aria-label": props.label, spellcheck: "false" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) current.current.onChange(update.state.doc.toString());
          }),
          styles,
        ],
      }),
    });
    const handle = { set: (text: string) => replace(view, text) };
    props.opened(handle);
    return () => {
      current.current.closed(handle);
      view.destroy();
    };
  }, []);
  return <div class="editor" ref={host} />;
}

function replace(view: EditorView, text: string): void {
  view.dispatch({
    changes: { from: 0, to: view.state.doc.length, insert: text },
    selection: { anchor: text.length },
    scrollIntoView: true,
  });
}

const shown = tagHighlighter([
  { tag: tags.keyword, class: "tok-keyword" },
  { tag: [tags.string, tags.special(tags.string)], class: "tok-string" },
  { tag: [tags.number, tags.bool], class: "tok-number" },
  { tag: tags.comment, class: "tok-comment" },
  { tag: [tags.definition(tags.variableName), tags.function(tags.variableName)], class: "tok-definition" },
]);
const HIGHLIGHT_MAX = 50_000; // characters; longer code is plain

export function Code({ code }: { code: string }): JSX.Element {
  const pieces = useMemo(() => {
    if (code.length > HIGHLIGHT_MAX) return [code];
    const made: (string | JSX.Element)[] = [];
    highlightCode(
      code,
      pythonLanguage.parser.parse(code),
      shown,
      (text, classes) => made.push(classes ? <span class={classes}>{text}</span> : text),
      () => made.push("\n"),
    );
    return made;
  }, [code]);
  return <pre class="code">{pieces}</pre>;
}
