// SPDX-License-Identifier: Apache-2.0
//
// What both pages share: the page's side of MCP Apps (SEP-1865 of 2026-01-26), which is JSON-RPC by postMessage with the
// host around it, and what waits for a human. Everything that comes is put in as text, never as HTML.

const POLL_MS = 1500;
const root = document.documentElement;
const $ = (id) => document.getElementById(id);

function make(tag, text = "", kind = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

// ---- the host ----

const requests = new Map(); // of ours, that have no answer yet
let lastId = 0;
let host = {}; // its capabilities

const send = (message) => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

function request(method, params) {
  return new Promise((resolve, reject) => {
    requests.set(++lastId, { resolve, reject });
    send({ id: lastId, method, params });
  });
}

function settle({ id, result, error }) {
  const open = requests.get(id);
  requests.delete(id);
  if (error) open?.reject(new Error(String(error.message ?? "the host refused")));
  else open?.resolve(result ?? {});
}

function applyContext({ theme, styles, safeAreaInsets } = {}) {
  if (theme === "light" || theme === "dark") root.style.colorScheme = theme;
  for (const [name, value] of Object.entries(styles?.variables ?? {}))
    if (name.startsWith("--") && typeof value === "string") root.style.setProperty(name, value);
  for (const side of ["top", "right", "bottom", "left"])
    if (safeAreaInsets?.[side] > 0) root.style.setProperty(`padding-${side}`, `${Number(safeAreaInsets[side])}px`);
}

function tellSize() {
  const { width, height } = root.getBoundingClientRect();
  send({ method: "ui/notifications/size-changed", params: { width: Math.ceil(width), height: Math.ceil(height) } });
}

// heard: a function for each notification. Ends when the host has answered.
async function connect(name, heard) {
  heard["ui/notifications/host-context-changed"] = applyContext;
  window.addEventListener("message", ({ source, data }) => {
    if (source !== window.parent || data?.jsonrpc !== "2.0") return;
    if (!data.method) settle(data);
    else if (data.id === undefined) heard[data.method]?.(data.params ?? {});
    else if (data.method === "ping" || data.method === "ui/resource-teardown") send({ id: data.id, result: {} });
    else send({ id: data.id, error: { code: -32601, message: `Method not found: ${data.method}` } });
  });
  const { hostCapabilities, hostContext } = await request("ui/initialize", {
    appInfo: { name, version: "1" },
    appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
    protocolVersion: "2026-01-26",
  });
  host = hostCapabilities ?? {};
  applyContext(hostContext ?? {});
  send({ method: "ui/notifications/initialized", params: {} });
  new ResizeObserver(tellSize).observe(root);
}

// ---- what waits for a human ----

const WAYS = {
  client: "Answer it in the form that this client shows.",
  api: "Answer it in the console (the server's page in a browser) or with the command: ipybox approve",
  channel: "It is asked on the approval channel, of the program that is connected there.",
  nobody: "It is about to be asked.",
};

function approval({ server, runs, tool, arguments: given, message, note, asked, expires_in_ms: left }) {
  const element = make("article");
  const facts = make("dl");
  element.append(make("h2", tool === undefined ? `${server} asks a question` : `${server}.${tool} waits for approval`));
  if (note) element.append(make("p", `Attention: ${note}.`, "note"));
  for (const [name, value] of [["Runs", runs], ["Arguments", given], ["Message", message]])
    if (value !== undefined) {
      const fact = make("dd");
      fact.append(make("pre", value));
      facts.append(make("dt", name), fact);
    }
  element.append(facts, make("p", WAYS[asked] ?? WAYS.nobody));
  if (left > 0) element.append(make("p", `It expires in ${Math.ceil(left / 1000)} s.`, "note"));
  element.append(make("p", "This page is for reading: it answers nothing.", "note"));
  return element;
}

function showApprovals({ approvals = [], omitted = 0 }) {
  $("approvals").replaceChildren(...approvals.map(approval));
  if (omitted > 0) $("approvals").append(make("p", `${omitted} more are too long to be shown here.`, "note"));
  $("approvals").hidden = approvals.length + omitted === 0;
}

// Until goes_on() says no. told: of each look, its number of approvals or an Error.
async function watchApprovals(uri, goesOn, told = () => {}) {
  while (goesOn()) {
    try {
      const { contents } = await request("resources/read", { uri });
      const found = JSON.parse(contents[0].text);
      if (goesOn()) showApprovals(found);
      told(found.approvals.length + found.omitted);
    } catch (error) {
      told(error);
    }
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}
