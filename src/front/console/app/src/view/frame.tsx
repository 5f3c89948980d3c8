// SPDX-License-Identifier: Apache-2.0
//
// An active output in a frame without an origin. The frame is made when it comes near the part of the page that is seen,
// and goes when it is far away: its height stays. What it says is a height, which is clamped, or a link.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { dark } from "../theme";
import { confirm } from "./ui";

const HEIGHT_MAX = 4000; // pixels; more scrolls inside
const HEIGHT_FIRST = 40;
const LOST = "The library that shows this could not be loaded.";

// The type that is shown of a bundle, the best first. `library`: the file beside the page that shows it.
const ACTIVE: { pattern: RegExp; library: string }[] = [
  { pattern: /^application\/vnd\.plotly\.v1\+json$/, library: "plotly.js" },
  { pattern: /^application\/vnd\.vegalite\.v[4-6](\.[0-9]+)*\+json$/, library: "vega.js" },
  { pattern: /^application\/vnd\.vega\.v[56](\.[0-9]+)*\+json$/, library: "vega.js" },
  { pattern: /^text\/html$/, library: "" },
  { pattern: /^image\/svg\+xml$/, library: "" },
  { pattern: /^text\/markdown$/, library: "math.js" },
  { pattern: /^text\/latex$/, library: "math.js" },
];

export interface ActiveType {
  mime: string;
  library: string;
}

export function activeType(types: string[]): ActiveType | null {
  for (const { pattern, library } of ACTIVE) {
    const mime = types.find((type) => pattern.test(type));
    if (mime) return { mime, library };
  }
  return null;
}

const libraries = new Map<string, Promise<string>>();

function load(name: string): Promise<string> {
  if (!name) return Promise.resolve("");
  let text = libraries.get(name);
  if (!text) {
    text = fetch(`console/${name}`, { credentials: "omit" }).then((answer) => {
      if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
      return answer.text();
    });
    text.catch(() => libraries.delete(name));
    libraries.set(name, text);
  }
  return text;
}

export async function openLink(link: string): Promise<void> {
  if (!/^https?:\/\//.test(link)) return;
  if (await confirm(`The output links to ${link}`, "Open it")) window.open(link, "_blank", "noopener,noreferrer");
}

export function Frame({ type, data }: { type: ActiveType; data: unknown }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const frame = useRef<HTMLIFrameElement>(null);
  const [near, setNear] = useState(false);
  const [height, setHeight] = useState(HEIGHT_FIRST);
  useEffect(() => {
    const element = place.current as HTMLDivElement;
    const watcher = new IntersectionObserver(([entry]) => setNear(entry?.isIntersecting ?? false), {
      root: element.closest("#cells"),
      rootMargin: "800px",
    });
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  useEffect(() => {
    if (!near) return;
    const hear = (event: MessageEvent): void => {
      const to = frame.current?.contentWindow;
      if (!to || event.source !== to) return;
      const said = event.data as { ready?: unknown; height?: unknown; link?: unknown } | null;
      if (said?.ready) {
        const order = { mime: type.mime, data, dark: dark.value };
        void load(type.library).then(
          (library) => to.postMessage({ ...order, library }, "*"),
          () => to.postMessage({ ...order, mime: "text/markdown", data: LOST, library: "" }, "*"),
        );
      }
      if (typeof said?.height === "number") setHeight(Math.min(Math.max(said.height, 16), HEIGHT_MAX));
      if (typeof said?.link === "string") void openLink(said.link);
    };
    window.addEventListener("message", hear);
    return () => window.removeEventListener("message", hear);
  }, [near, type.mime, type.library, data]);
  return (
    <div ref={place} class="frame" style={{ height: `${height}px` }}>
      {near && <iframe key={`${frameKey(data)} ${dark.value}`} ref={frame} title={`Output: ${type.mime}`} sandbox="allow-scripts" src="console/frame.html" />}
    </div>
  );
}

// Another bundle is another frame.
const keys = new WeakMap<object, number>();
let nextKey = 0;
function frameKey(data: unknown): string {
  if (typeof data !== "object" || data === null) return String(data).slice(0, 200) + String(data).length;
  let key = keys.get(data);
  if (key === undefined) keys.set(data, (key = nextKey++));
  return String(key);
}
