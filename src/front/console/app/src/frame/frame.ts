// SPDX-License-Identifier: Apache-2.0
//
// Runs inside the frame of one output: without an origin, a network or a way to the page but messages. It is told once
// what to show; then it tells its height whenever that changes, and the links that are followed. The page trusts nothing
// that comes from here: a height is clamped, a link is shown before it is opened.

import { marked } from "marked";
import { messageOf } from "../text";

interface Order {
  mime: string;
  data: unknown;
  dark: boolean;
  library: string; // the script that shows this type; "": none
}

type Global = typeof globalThis & {
  vegaEmbed?: (element: HTMLElement, spec: unknown, options: unknown) => Promise<unknown>;
  Plotly?: { newPlot: (element: HTMLElement, data: unknown, layout: unknown, options: unknown) => Promise<unknown> };
  renderMath?: (element: HTMLElement) => void;
};
const world = globalThis as Global;
const place = document.getElementById("output") as HTMLElement;

const tell = (message: unknown): void => parent.postMessage(message, "*");

// innerHTML runs no scripts; libraries' displays need theirs, in their order.
function runScripts(element: HTMLElement): void {
  for (const old of element.querySelectorAll("script")) {
    const made = document.createElement("script");
    for (const { name, value } of old.attributes) made.setAttribute(name, value);
    made.textContent = old.textContent;
    old.replaceWith(made);
  }
}

async function show({ mime, data, dark, library }: Order): Promise<void> {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  // This frame is where foreign code runs.
  if (library) (0, eval)(library);
  if (mime.startsWith("application/vnd.vega")) {
    const mode = mime.includes("lite") ? "vega-lite" : "vega";
    await world.vegaEmbed?.(place, data, { mode, actions: false, ...(dark && { theme: "dark" }) });
  } else if (mime === "application/vnd.plotly.v1+json") {
    const figure = data as { data: unknown; layout?: Record<string, unknown>; config?: Record<string, unknown> };
    const layout = { ...figure.layout, autosize: true };
    await world.Plotly?.newPlot(place, figure.data, layout, { responsive: true, displaylogo: false, ...figure.config });
  } else if (mime === "text/markdown" || mime === "text/latex") {
    place.classList.add("prose");
    if (mime === "text/latex") place.textContent = String(data);
    else place.innerHTML = await marked.parse(String(data));
    world.renderMath?.(place);
  } else {
    place.innerHTML = String(data);
    runScripts(place);
  }
}

let last = 0;
function tellHeight(): void {
  const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
  if (height !== last) tell({ height: (last = height) });
}

addEventListener("message", (event: MessageEvent<Order>) => {
  if (event.source !== parent) return;
  show(event.data).then(tellHeight, (e: unknown) => {
    place.textContent = `This could not be shown: ${messageOf(e)}`;
    tell({ failed: true });
    tellHeight();
  });
});

document.addEventListener("click", (event) => {
  const link = (event.target as Element | null)?.closest?.("a[href]");
  if (!(link instanceof HTMLAnchorElement) || link.getAttribute("href")?.startsWith("#")) return;
  event.preventDefault();
  tell({ link: link.href });
});

new ResizeObserver(tellHeight).observe(document.documentElement);
tell({ ready: true });
