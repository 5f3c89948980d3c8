// SPDX-License-Identifier: Apache-2.0
//
// The outputs of a cell: text as text, pictures from their bytes, everything that could act in a frame (frame.tsx).

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Ansi } from "../ansi";
import type { Cell, Output } from "../cells";
import type { Screen } from "../screen";
import { joined, visible } from "../text";
import type { Bundle } from "../types";
import { activeType, Frame } from "./frame";
import { Button } from "./ui";

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const FOLDED_LINES = 24;
const TEXT_MAX = 200_000; // characters of one output that the page shows at once

function Lines({ lines, kind, dropped = 0 }: { lines: string[]; kind: string; dropped?: number }): JSX.Element {
  const [open, setOpen] = useState(false);
  const long = lines.length > FOLDED_LINES + 4;
  const shown = long && !open ? [...lines.slice(0, 8), ...lines.slice(-(FOLDED_LINES - 8))] : lines;
  const cut = (text: string): string => (text.length > TEXT_MAX ? `…${text.slice(-TEXT_MAX)}` : text);
  return (
    <div class={`text ${kind}`}>
      {dropped > 0 && <p class="faint">{dropped} earlier lines are left out here; the result's file has them.</p>}
      {long && !open ? (
        <>
          <pre><Ansi text={cut(shown.slice(0, 8).join("\n"))} /></pre>
          <Button label={`Show all ${lines.length} lines`} kind="quiet" onClick={() => setOpen(true)} />
          <pre><Ansi text={cut(shown.slice(8).join("\n"))} /></pre>
        </>
      ) : (
        <pre class={long ? "tall" : ""} tabIndex={long ? 0 : undefined}>
          <Ansi text={cut(shown.join("\n"))} />
        </pre>
      )}
      {long && open && <Button label="Fold" kind="quiet" onClick={() => setOpen(false)} />}
    </div>
  );
}

function Stream({ screen, name, late }: { screen: Screen; name: string; late: boolean }): JSX.Element {
  const lines = screen.lines();
  if (lines.at(-1) === "") lines.pop();
  return (
    <>
      {late && <p class="faint">After the end of the cell:</p>}
      <Lines lines={lines} kind={name} dropped={screen.dropped} />
    </>
  );
}

function Json({ value }: { value: unknown }): JSX.Element {
  return <Lines lines={JSON.stringify(value, null, 2).split("\n")} kind="stdout" />;
}

function Display({ data }: { data: Bundle }): JSX.Element {
  const types = Object.keys(data);
  const active = activeType(types);
  const plain = joined(data["text/plain"]);
  if (active) {
    const value = data[active.mime];
    const json = active.mime.endsWith("+json");
    return <Frame type={active} data={json ? value : joined(value)} />;
  }
  const image = IMAGES.find((type) => type in data);
  if (image) {
    const source = joined(data[image]).replace(/[^A-Za-z0-9+/=]/g, "");
    return <img src={`data:${image};base64,${source}`} alt={visible(plain || "a picture").slice(0, 300)} />;
  }
  if ("application/json" in data) return <Json value={data["application/json"]} />;
  return <Lines lines={(plain || `(${types.join(", ")})`).split("\n")} kind="stdout" />;
}

function Progress({ text, part }: { text: string; part: number | null }): JSX.Element {
  return (
    <div class="progress">
      <progress max={1} value={part ?? undefined} aria-label={visible(text)} />
      <span>{visible(text)}</span>
    </div>
  );
}

function One({ output }: { output: Output }): JSX.Element {
  switch (output.kind) {
    case "stream":
      return <Stream screen={output.screen} name={output.name} late={output.late} />;
    case "bundle":
      return <Display data={output.data} />;
    case "progress":
      return <Progress text={output.text} part={output.part} />;
    case "error":
      return <Lines lines={(output.traceback || `${output.name}: ${output.value}`).split("\n")} kind="error" />;
  }
}

export function Outputs({ cell }: { cell: Cell }): JSX.Element | null {
  if (cell.outputs.length === 0) return null;
  const numbered = cell.outputs.some((output) => output.kind === "bundle" && output.result);
  return (
    <div class="outputs">
      {numbered && (
        <span class="prompt out" aria-hidden="true">
          Out[{cell.number}]
        </span>
      )}
      {cell.outputs.map((output, i) => (
        <One key={i} output={output} />
      ))}
    </div>
  );
}
