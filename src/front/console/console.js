// SPDX-License-Identifier: Apache-2.0
//
// The console: a client of the HTTP API, no more (docs/console.md). What comes from code, servers and files is put in
// as text, never as HTML; a picture is a data: URL of one of four types. The page's policy allows nothing else either.

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const OUTPUT_MAX = 2000; // pieces of output that stay in the page
const PIECE_MAX = 200000; // characters of one of them
const POLL_MS = 2000;
const RETRY_MS = 1000;
const PARTS_MAX = 256; // of a download, before they are put together
const KEEP_MS = 60000; // for the browser to take a download over

const $ = (id) => document.getElementById(id);
let token = sessionStorage.getItem("ipybox-token") ?? "";
let session = ""; // the one that is shown
let stream = null; // AbortController of its events
let folder = "";
let poll = 0;
let moving = null; // AbortController of the transfer that is under way
let refused = new Set(); // parts that the token is not for: asked once, or the server would take us for one who guesses

function make(tag, text = "", kind = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

function button(text, label, act) {
  const element = make("button", text);
  element.type = "button";
  if (label) element.setAttribute("aria-label", label);
  element.addEventListener("click", act);
  return element;
}

// What hides or turns a text, escaped: an approver reads what is sent (src/base/text/visible.h).
const hiding = /[^\P{C}\n]|[\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\u{e0000}-\u{e0fff}]/gu;
const visible = (text) => String(text).replace(hiding, (c) =>
  c.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""));

function say(text, bad = false) {
  $("status").textContent = visible(text);
  $("status").className = bad ? "bad" : "";
}

// ---- the API ----

class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function ask(method, path, body, more = {}) {
  const headers = { ...more.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, {
    method, headers, signal: more.signal, cache: "no-store", credentials: "omit",
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, String(problem.detail ?? answer.statusText));
}

const get = async (path) => (await ask("GET", path)).json();
const here = () => `/v1/sessions/${encodeURIComponent(session)}`;

// Does it, and tells a failure in the status line.
async function attempt(what) {
  try {
    await what();
    return true;
  } catch (e) {
    if (e.name !== "AbortError") say(e.message, true);
    return false;
  }
}

// ---- who ----

function ask_for_token(why) {
  clearTimeout(poll);
  stream?.abort();
  moving?.abort();
  session = "";
  $("main").hidden = true;
  $("sign-out").hidden = true;
  $("sign-in").hidden = false;
  say(why, true);
  $("token").focus();
}

async function begin() {
  const asked_with = token;
  try {
    await refresh();
  } catch (e) {
    if (token !== asked_with) return;
    if (e.status === 401 || e.status === 403 || e.status === 429) return ask_for_token(e.message);
    say(e.message || "the server does not answer", true);
  }
  if (token !== asked_with) return; // it was forgotten meanwhile, or there is another one
  $("sign-in").hidden = true;
  $("main").hidden = false;
  $("sign-out").hidden = !token;
  clearTimeout(poll);
  poll = setTimeout(begin, POLL_MS);
}

// A token may be for sessions, for approvals, or for both.
async function refresh() {
  const parts = [[show_sessions, "work"], [show_approvals, "approvals-part"]];
  const asked = parts.filter(([, id]) => !refused.has(id));
  const results = await Promise.allSettled(asked.map(([show]) => show()));
  const failed = results.filter(({ status }) => status === "rejected");
  for (const { reason } of failed)
    if (reason.status !== 401 && reason.status !== 403) throw reason;
  if (failed.length === asked.length) throw failed[0].reason;
  asked.forEach(([, id], i) => {
    const why = results[i].reason;
    if (why) refused.add(id);
    if (why && id === "approvals-part") $("approvals-note").textContent = visible(why.message);
    if (id === "work") $(id).hidden = Boolean(why);
  });
}

// ---- sessions ----

async function show_sessions() {
  const { sessions } = await get("/v1/sessions");
  const list = $("sessions");
  const known = new Map([...list.children].map((item) => [item.dataset.id, item]));
  for (const { id, state } of sessions) {
    let item = known.get(id);
    known.delete(id);
    if (!item) {
      item = make("li");
      item.dataset.id = id;
      item.append(button("", "", () => open(id)));
      list.append(item);
    }
    const text = `${id} (${state})`;
    if (item.firstChild.textContent !== text) item.firstChild.textContent = text;
    item.firstChild.setAttribute("aria-pressed", String(id === session));
  }
  for (const item of known.values()) item.remove();
  if (!sessions.some(({ id }) => id === session) && sessions.length > 0) open(sessions[0].id);
}

function open(id) {
  session = id;
  $("output-title").textContent = `Output of ${id}`;
  $("output").replaceChildren();
  for (const item of $("sessions").children)
    item.firstChild.setAttribute("aria-pressed", String(item.dataset.id === id));
  stream?.abort();
  stream = new AbortController();
  follow(stream.signal);
  attempt(show_files);
}

// ---- events ----

async function follow(signal) {
  let last = 0;
  while (!signal.aborted) {
    try {
      const answer = await ask("GET", `${here()}/events?after=${last}`, undefined,
                               { signal, headers: { Accept: "text/event-stream" } });
      for await (const event of events(answer.body)) {
        if (signal.aborted) return;
        last = event.id || last;
        show_event(event.type, JSON.parse(event.data));
      }
    } catch (e) {
      if (signal.aborted || e.status) return; // the next listing tells more
    }
    await new Promise((done) => setTimeout(done, RETRY_MS));
  }
}

// Server-Sent Events, as far as this server writes them.
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const event = { type: "message", data: "", id: 0 };
      for (const line of block.split("\n")) {
        const [, name, rest] = /^([a-z]+): ?(.*)$/.exec(line) ?? [];
        if (name === "event") event.type = rest;
        if (name === "data") event.data += rest;
        if (name === "id") event.id = Number(rest);
      }
      if (event.data) yield event;
    }
  }
}

const plain = (text) => String(text).replace(/\u001b\[[0-9;]*[A-Za-z]/g, "").slice(0, PIECE_MAX);

function put(element) {
  const output = $("output");
  const at_end = output.scrollHeight - output.scrollTop - output.clientHeight < 40;
  output.append(element);
  while (output.childElementCount > OUTPUT_MAX) output.firstElementChild.remove();
  if (at_end) output.scrollTop = output.scrollHeight;
}

function put_text(text, kind) {
  const last = $("output").lastElementChild;
  if (last?.tagName === "PRE" && last.className === kind && last.textContent.length < PIECE_MAX)
    last.append(plain(text));
  else
    put(make("pre", plain(text), kind));
}

function put_bundle(data) {
  const joined = (value) => (Array.isArray(value) ? value.join("") : String(value));
  const type = IMAGES.find((name) => name in data);
  if (!type) return put(make("pre", plain(joined(data["text/plain"] ?? `(${Object.keys(data).join(", ")})`))));
  const image = document.createElement("img");
  image.alt = plain(joined(data["text/plain"] ?? "a picture")).slice(0, 300);
  image.src = `data:${type};base64,${joined(data[type]).replace(/[^A-Za-z0-9+/=]/g, "")}`;
  put(image);
}

// One line for each call, with its newest state.
function put_progress(data) {
  const part = data.total > 0 ? `${data.progress} of ${data.total}` : String(data.progress);
  const text = visible(plain(`${data.server}.${data.tool}: ${part} ${data.message ?? ""}`)).slice(0, 1000);
  const id = `${session}-${data.call}`;
  const last = [...$("output").querySelectorAll("p.progress")].findLast((line) => line.dataset.call === id);
  if (last) {
    last.textContent = text;
    return;
  }
  const line = make("p", text, "mark progress");
  line.dataset.call = id;
  put(line);
}

const shows = {
  begin: (data) => put(make("p", `cell ${data.cell}`, "mark")),
  stdout: (data) => put_text(data.text, ""),
  stderr: (data) => put_text(data.text, "bad"),
  display: (data) => put_bundle(data.data ?? {}),
  update: (data) => put_bundle(data.data ?? {}),
  result: (data) => put_bundle(data.data ?? {}),
  error: (data) => put(make("pre", plain([].concat(data.traceback ?? []).join("\n") || `${data.ename}: ${data.evalue}`), "bad")),
  kernel: (data) => put(make("p", visible(`kernel: ${data.state} ${data.reason ?? ""}`), "mark")),
  end: (data) => put(make("p", visible(`cell ${data.cell}: ${data.status} ${data.reason ?? ""}`), "mark")),
  gap: (data) => put(make("p", `${data.missed} events are no longer kept`, "mark bad")),
  closed: (data) => put(make("p", visible(`the end: ${data.reason ?? ""}`), "mark")),
  reset: () => put(make("p", "The session began anew; all that is kept of it follows", "mark")),
  progress: (data) => put_progress(data),
  approval: () => { if (!refused.has("approvals-part")) show_approvals().catch(() => {}); },
};

function show_event(type, data) {
  if (Object.hasOwn(shows, type)) shows[type](data);
}

// ---- approvals ----

// Sends the answer to what the item shows.
const settle = (item, id, body, done) => attempt(async () => {
  await ask("POST", `/v1/approvals/${encodeURIComponent(id)}`, body);
  item.remove();
  say(done);
});

function describe_approval(a) {
  const item = make("li");
  item.dataset.id = a.id;
  if (a.form) {
    item.append(make("p", visible(`${a.server} asks, for the session ${a.session}. Server: ${a.shown}`)),
                make("p", visible(a.form.message)),
                a.mine ? describe_form(item, a) : make("p", "A client with forms has been asked."));
    return item;
  }
  const name = visible(`${a.server}.${a.tool}`);
  item.append(make("p", `${name} wants to run, for the session ${a.session}. Server: ${visible(a.shown)}`));
  if (a.note) item.append(make("p", visible(a.note)));
  item.append(make("pre", visible(JSON.stringify(a.arguments, null, 2))));
  for (const [text, decision] of [["Accept", "accept"], ["Reject", "reject"]])
    item.append(button(text, `${text} ${name}`, () => settle(item, a.id, { decision }, `${name}: ${decision}ed`)), " ");
  return item;
}

// The choices of a field, as [value, what is shown]; null: any value.
function choices(schema) {
  const titled = schema.oneOf ?? schema.items?.oneOf ?? schema.items?.anyOf;
  if (Array.isArray(titled)) return titled.map((one) => [String(one.const), String(one.title ?? one.const)]);
  const names = schema.enum ?? schema.items?.enum;
  return Array.isArray(names) ? names.map((name, i) => [String(name), String(schema.enumNames?.[i] ?? name)]) : null;
}

const INPUTS = { email: "email", uri: "url", date: "date", integer: "number", number: "number", boolean: "checkbox" };

function make_input(schema) {
  const options = choices(schema);
  const input = document.createElement(options ? "select" : "input");
  const preset = [].concat(schema.default ?? []).map(String);
  if (options) {
    input.multiple = schema.type === "array";
    if (!input.multiple) input.append(new Option("", ""));
    for (const [value, text] of options) input.append(new Option(visible(text), value, false, preset.includes(value)));
    return input;
  }
  input.type = INPUTS[schema.format] ?? INPUTS[schema.type] ?? "text";
  input.autocomplete = "off";
  if (schema.type === "number") input.step = "any";
  if (input.type === "checkbox") input.checked = schema.default === true;
  else input.value = preset[0] ?? "";
  return input;
}

// What a field says; undefined: nothing.
function value_of(input, { type }) {
  if (type === "boolean") return input.checked;
  if (type === "array") return [...input.selectedOptions].map(({ value }) => value);
  if (input.value === "") return undefined;
  return type === "number" || type === "integer" ? Number(input.value) : input.value;
}

function describe_form(item, a) {
  const { properties, required = [] } = a.form.requestedSchema;
  const form = make("form");
  const inputs = Object.entries(properties).map(([name, schema], i) => {
    const input = make_input(schema);
    input.id = `field-${a.id}-${i}`;
    input.required = required.includes(name) && schema.type === "string" && (schema.minLength ?? 1) > 0;
    const label = make("label", visible(schema.title ?? name) + (required.includes(name) ? "" : " (may be empty)"));
    label.htmlFor = input.id;
    form.append(label, input);
    if (schema.description) form.append(make("p", visible(schema.description)));
    return [name, schema, input];
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = inputs.map(([name, schema, input]) => [name, value_of(input, schema)]).filter(([, value]) => value !== undefined);
    settle(item, a.id, { action: "accept", content: Object.fromEntries(given) }, `${a.server}: answered`);
  });
  const send = make("button", "Send");
  send.setAttribute("aria-label", `Send the answer to ${visible(a.server)}`);
  form.append(send, " ", button("Decline", `Decline to answer ${visible(a.server)}`,
                                () => settle(item, a.id, { action: "decline" }, `${a.server}: declined`)));
  return form;
}

async function show_approvals() {
  const { approvals } = await get("/v1/approvals");
  const list = $("approvals");
  const known = new Map([...list.children].map((item) => [item.dataset.id, item]));
  for (const approval of approvals) {
    const item = known.get(approval.id);
    if (!item || item.dataset.mine !== String(approval.mine)) {
      const made = describe_approval(approval);
      made.dataset.mine = String(approval.mine);
      if (item) item.replaceWith(made);
      else list.append(made);
    }
    known.delete(approval.id);
  }
  for (const item of known.values()) item.remove();
  $("approvals-note").textContent = approvals.length === 0 ? "Nothing waits." : "";
}

// ---- files ----

async function show_files() {
  const { entries, next } = await get(`/v1/files?list=true&limit=200&path=${encodeURIComponent(folder)}`.replace(/&path=$/, ""));
  $("folder").textContent = visible(`/${folder}`);
  $("up").disabled = folder === "";
  $("files").replaceChildren(...entries.map((entry) => {
    const item = make("li");
    const name = visible(entry.name);
    if (entry.type === "folder" && !entry.encoded)
      item.append(button(`${name}/`, `Folder ${name}`, () => enter(path_of(entry.name))));
    else if (entry.type === "file" && !entry.encoded)
      item.append(button(name, `Download ${name}`, () => download(entry.name, entry.size)), ` ${entry.size} bytes`);
    else
      item.textContent = name;
    return item;
  }));
  if (next) $("files").append(make("li", "and more"));
}

function enter(path) {
  folder = path;
  attempt(show_files);
}

const path_of = (name) => (folder ? `${folder}/${name}` : name);
const address_of = (name) => `/v1/files?path=${encodeURIComponent(path_of(name))}`;

// One transfer at a time; what(signal) tells how far it is by progress().
async function transfer(what) {
  if (moving) return say("Another transfer is under way.", true);
  moving = new AbortController();
  const { signal } = moving;
  say("");
  await attempt(() => what(signal));
  if (signal.aborted) say("The transfer was stopped.");
  moving = null;
  $("transfer").hidden = true;
  await attempt(show_files);
}

function progress(text, done, all) {
  $("transfer").hidden = false;
  $("transfer-text").textContent = visible(`${text}: ${done} of ${all} bytes`);
  $("progress").value = all > 0 ? done / all : 1;
}

// Parts are given to the browser now and then, which keeps what is large on its disk.
function download(name, size) {
  return transfer(async (signal) => {
    const answer = await ask("GET", address_of(name), undefined, { signal });
    const reader = answer.body.getReader();
    let parts = [];
    let got = 0;
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      parts.push(value);
      got += value.length;
      if (parts.length >= PARTS_MAX) parts = [new Blob(parts)];
      progress(`Downloading ${name}`, got, size);
    }
    save(parts, name);
    say(`${name} is downloaded.`);
  });
}

function save(parts, name) {
  const link = make("a");
  link.href = URL.createObjectURL(new Blob(parts, { type: "application/octet-stream" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEEP_MS);
}

async function save_notebook() {
  const name = `${session}.ipynb`;
  const answer = await ask("GET", `${here()}/notebook`);
  save([await answer.blob()], name);
  say(`${name} is downloaded.`);
}

async function is_there(address) {
  try {
    await ask("HEAD", address);
    return true;
  } catch (e) {
    if (e.status === 404) return false;
    throw e;
  }
}

// fetch() does not tell how much it has sent.
function send(file, address, signal) {
  return new Promise((done, fail) => {
    const request = new XMLHttpRequest();
    request.open("PUT", address);
    if (token) request.setRequestHeader("Authorization", `Bearer ${token}`);
    if (!$("replace").checked) request.setRequestHeader("If-None-Match", "*");
    request.upload.onprogress = ({ loaded }) => progress(`Uploading ${file.name}`, loaded, file.size);
    request.onload = () => {
      if (request.status < 300) return done();
      let detail = request.statusText;
      try { detail = JSON.parse(request.responseText).detail; } catch { /* no problem document */ }
      fail(new Refused(request.status, String(detail)));
    };
    request.onerror = () => fail(new Error(`${file.name}: the connection broke, or the file cannot be read`));
    request.onabort = () => fail(new DOMException("stopped", "AbortError"));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

function upload(files) {
  return transfer(async (signal) => {
    for (const file of files) {
      const address = address_of(file.name);
      if (!$("replace").checked && await is_there(address))
        throw new Error(`${file.name} is there already; tick "Replace" if it may go.`);
      progress(`Uploading ${file.name}`, 0, file.size);
      await send(file, address, signal);
      signal.throwIfAborted();
      say(`${file.name} is uploaded.`);
    }
  });
}

function drop(event) {
  $("drop").className = "";
  const items = [...event.dataTransfer.items];
  if (items.some((item) => item.webkitGetAsEntry?.()?.isDirectory)) return say("Folders cannot be dropped, only files.", true);
  if (event.dataTransfer.files.length > 0) upload([...event.dataTransfer.files]);
}

// ---- what the forms do ----

function on(id, type, act) {
  $(id).addEventListener(type, (event) => {
    event.preventDefault();
    act();
  });
}

async function run() {
  const code = $("code").value;
  if (code && await attempt(() => ask("POST", `${here()}/executions`, { code, wait: false }))) {
    $("code").value = "";
    say("");
  }
}

async function interrupt() {
  const { executions } = await get(`${here()}/executions`);
  const running = executions.find(({ status }) => status === "running");
  if (running) await ask("POST", `${here()}/executions/${running.id}/interrupt`);
}

on("sign-in", "submit", () => {
  token = $("token").value;
  $("token").value = "";
  sessionStorage.setItem("ipybox-token", token);
  refused = new Set();
  say("");
  begin();
});
on("sign-out", "click", () => {
  token = "";
  sessionStorage.removeItem("ipybox-token");
  $("output").replaceChildren();
  $("approvals").replaceChildren();
  ask_for_token("");
});
on("run", "submit", run);
on("interrupt", "click", () => attempt(interrupt));
on("reset", "click", () => attempt(() => ask("POST", `${here()}/reset`)));
on("notebook", "click", () => attempt(save_notebook));
on("end", "click", () => attempt(async () => { await ask("DELETE", here()); await show_sessions(); }));
on("up", "click", () => enter(folder.split("/").slice(0, -1).join("/")));
on("new-session", "submit", () => attempt(async () => {
  const id = $("new-id").value;
  const made = await (await ask("POST", "/v1/sessions", id ? { id } : {})).json();
  $("new-id").value = "";
  await show_sessions();
  open(made.id);
}));
on("stop", "click", () => moving?.abort());
$("upload").addEventListener("change", async () => {
  await upload([...$("upload").files]);
  $("upload").value = "";
});
// A file that misses its place must not replace the page.
for (const type of ["dragover", "drop"])
  document.addEventListener(type, (event) => event.preventDefault());
$("drop").addEventListener("dragover", () => { $("drop").className = "over"; });
$("drop").addEventListener("dragleave", () => { $("drop").className = ""; });
$("drop").addEventListener("drop", drop);
$("code").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.ctrlKey) run();
});

begin();
