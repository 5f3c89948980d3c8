// SPDX-License-Identifier: Apache-2.0
//
// The cells of a session, newest at the end. A window of them is in the page: scrolling up brings earlier ones. The page
// follows new output only while its end is in sight.

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Cell, Item, Notebook } from "../cells";
import { interrupt, mayRun, notebook, run, say, session, sessionId, waiting, withdraw } from "../state";
import { clock, duration, visible } from "../text";
import { Code, Editor, type EditorHandle } from "./editor";
import { Outputs } from "./outputs";
import { Button, useNow } from "./ui";

const WINDOW = 60; // cells that are in the page at the end
const STEP = 40;
const AT_END = 60; // pixels
const TOUCHED_MS = 1500;

let editor: EditorHandle | null = null;

const STATES: Record<string, string> = {
  ok: "ok",
  error: "error",
  timeout: "timed out",
  cancelled: "interrupted",
  lost: "kernel died",
  stopped: "stopped",
  refused: "refused",
};

const Elapsed = ({ since }: { since: number }): JSX.Element => <>{duration(Math.max(0, useNow(500) - since))}</>;

async function copyLink(cell: Cell): Promise<void> {
  const link = new URL(`#${encodeURIComponent(sessionId.value)}/${cell.number}`, location.href);
  await navigator.clipboard.writeText(link.href);
  say(`The link to cell ${cell.number} is copied.`);
}

function CellView({ cell }: { cell: Cell }): JSX.Element {
  void cell.version.value; // told of each change
  const running = cell.state === "running";
  const ended = cell.endedMs > 0;
  return (
    <article class={`cell ${cell.state}`} id={`cell-${cell.number}`} aria-label={`Cell ${cell.number}`}>
      <header>
        <span class="prompt">In[{running ? "*" : cell.number}]</span>
        {cell.client && cell.client !== "console" && <span class="who">{visible(cell.client)}</span>}
        <span class={`state ${cell.state}`}>
          {running ? "running" : cell.state !== "ok" ? (STATES[cell.state] ?? cell.state) : ""}
        </span>
        {cell.beganMs > 0 && (
          <time title={new Date(cell.beganMs).toLocaleString()}>
            {running ? <Elapsed since={cell.beganMs} /> : ended && cell.beganMs ? duration(cell.endedMs - cell.beganMs) : ""}
            <span class="faint"> {clock(cell.beganMs)}</span>
          </time>
        )}
        <span class="acts">
          {running && <Button icon="stop" label="Interrupt" onClick={() => void interrupt()} />}
          {!running && cell.code && <Button icon="again" label={`Run cell ${cell.number} again`} onClick={() => void run(cell.code)} />}
          {cell.code && <Button icon="edit" label={`Copy cell ${cell.number} into the editor`} onClick={() => editor?.set(cell.code)} />}
          <Button icon="link" label={`Copy a link to cell ${cell.number}`} onClick={() => void copyLink(cell)} />
        </span>
      </header>
      {cell.code ? <Code code={cell.code} /> : <p class="faint">Its code is no longer kept.</p>}
      {cell.truncated && <p class="faint">The rest of the code is left out here.</p>}
      <Outputs cell={cell} />
      {cell.reason && <p class="reason">{visible(cell.reason)}</p>}
    </article>
  );
}

const ItemView = ({ item }: { item: Item }): JSX.Element =>
  item.kind === "cell" ? <CellView cell={item} /> : <p class={item.bad ? "mark bad" : "mark"}>{visible(item.text)}</p>;

function Waiting(): JSX.Element {
  return (
    <>
      {waiting.value.map(({ id, code }) => (
        <article class="cell queued" key={id}>
          <header>
            <span class="prompt">In[ ]</span>
            <span class="state">waits</span>
            <span class="acts">
              <Button icon="close" label="Take it out of the queue" onClick={() => void withdraw(id)} />
            </span>
          </header>
          <Code code={code} />
        </article>
      ))}
    </>
  );
}

function Cells({ of }: { of: Notebook }): JSX.Element {
  void of.version.value;
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const lastTop = useRef(0);
  const touched = useRef(-TOUCHED_MS); // when the user last did something to the list
  const touch = (): void => {
    touched.current = performance.now();
  };
  const [from, setFrom] = useState<number | null>(null); // the first item in the page; null: the last WINDOW
  const [behind, setBehind] = useState(false);
  const total = of.items.length;
  const first = Math.max(0, from ?? total - WINDOW);
  const shown = of.items.slice(first);

  const toEnd = (): void => {
    const box = scroller.current;
    if (box) box.scrollTop = box.scrollHeight;
  };
  useLayoutEffect(() => {
    // Whatever makes the cells higher (text, a picture that has loaded, a frame), the end stays in sight.
    const watcher = new ResizeObserver(() => {
      if (following.current) toEnd();
      else setBehind(true);
    });
    watcher.observe(content.current as HTMLDivElement);
    watcher.observe(scroller.current as HTMLDivElement);
    return () => watcher.disconnect();
  }, [of]);
  useEffect(() => {
    const wanted = Number(decodeURIComponent(location.hash.slice(1)).split("/")[1]);
    const at = wanted ? of.items.findIndex((item) => item.kind === "cell" && item.number === wanted) : -1;
    if (at < 0) return;
    following.current = false;
    setFrom(Math.max(0, Math.min(at - 3, total - WINDOW)));
    requestAnimationFrame(() => document.getElementById(`cell-${wanted}`)?.scrollIntoView({ block: "start" }));
    history.replaceState(null, "", `#${encodeURIComponent(sessionId.value)}`);
  }, [of, total]);

  const onScroll = (): void => {
    const box = scroller.current;
    if (!box) return;
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < AT_END;
    // New output moves the end away before the page has followed it, and cells that leave the window move it up: only who
    // scrolls up with hand or key wants to read there.
    const up = box.scrollTop < lastTop.current && performance.now() - touched.current < TOUCHED_MS;
    lastTop.current = box.scrollTop;
    if (atEnd) {
      following.current = true;
      setBehind(false);
      if (from !== null && total - from <= WINDOW + STEP) setFrom(null);
    } else if (up) {
      following.current = false;
      if (from === null) setFrom(first);
    }
    if (box.scrollTop < 200 && first > 0) {
      const height = box.scrollHeight;
      setFrom(Math.max(0, first - STEP));
      requestAnimationFrame(() => {
        // Where the browser anchors the scroll position itself, nothing is left to do.
        if (box.scrollTop < 200) box.scrollTop += box.scrollHeight - height;
      });
    }
  };
  return (
    <div class="cells-part">
      <div class="cells" id="cells" ref={scroller} onScroll={onScroll}
        onWheel={touch}
        onKeyDown={touch}
        onPointerDown={touch}
        onPointerMove={(event) => event.buttons && touch()}
        onTouchMove={touch}
        role="log" aria-label="Cells" tabIndex={0}>
        <div ref={content}>
          {first > 0 && <p class="mark">{first} earlier cells are above.</p>}
          {of.dropped > 0 && first === 0 && <p class="mark">{of.dropped} earlier cells are no longer in this page.</p>}
          {shown.map((item, i) => (
            <ItemView key={item.kind === "cell" ? `c${item.number}` : `m${first + i}`} item={item} />
          ))}
          <Waiting />
          {total === 0 && waiting.value.length === 0 && (
            <p class="mark">Nothing has run in this session yet. Cells of agents appear here as they run, and yours.</p>
          )}
        </div>
      </div>
      {behind && (
        <div class="to-end">
          <Button
            icon="down"
            text
            kind="plain"
            label="New output"
            onClick={() => {
              following.current = true;
              setFrom(null);
              setBehind(false);
              requestAnimationFrame(toEnd);
            }}
          />
        </div>
      )}
    </div>
  );
}

const draftKey = (): string => `ipybox-draft-${sessionId.value}`;

function Composer(): JSX.Element {
  const draft = useRef(sessionStorage.getItem(draftKey()) ?? "");
  const place = useRef<number | null>(null); // in the history; null: what is typed
  const keep = (text: string): void => {
    draft.current = text;
    sessionStorage.setItem(draftKey(), text);
  };
  const sent = useRef(""); // the last one from here, which may not have begun yet
  const codes = (): string[] => {
    const begun = notebook.value.items.flatMap((item) => (item.kind === "cell" && item.code ? [item.code] : []));
    return sent.current && begun.at(-1) !== sent.current ? [...begun, sent.current] : begun;
  };
  const recall = (direction: -1 | 1): string | null => {
    const all = codes();
    const at = (place.current ?? all.length) + direction;
    if (at < 0 || at > all.length || (place.current === null && direction > 0)) return null;
    place.current = at === all.length ? null : at;
    return all[at] ?? "";
  };
  const start = async (text: string): Promise<void> => {
    if (!text.trim()) return;
    editor?.set("");
    place.current = null;
    sent.current = text;
    if (!(await run(text)) && draft.current === "") editor?.set(text); // nothing typed is lost
  };
  const busy = notebook.value.running.value !== null;
  return (
    <div class="composer">
      <Editor
        label="Code of a cell"
        initial={draft.current}
        onChange={keep}
        onRun={(text) => void start(text)}
        recall={recall}
        opened={(made) => {
          editor = made;
        }}
        closed={(old) => {
          if (editor === old) editor = null; // the next one may be open already
        }}
      />
      <div class="column">
        <Button icon="run" text label="Run" kind="primary" onClick={() => void start(draft.current)} />
        <Button icon="stop" text label="Interrupt" kind="plain" disabled={!busy} onClick={() => void interrupt()} />
      </div>
    </div>
  );
}

export function NotebookView(): JSX.Element | null {
  if (!mayRun.value || !session.value) return null;
  return (
    <section class="notebook" aria-label={`Session ${sessionId.value}`}>
      <Cells key={sessionId.value} of={notebook.value} />
      <Composer key={`composer-${sessionId.value}`} />
    </section>
  );
}
