// SPDX-License-Identifier: Apache-2.0
//
// The page of a cell's result. What cells make is hostile: texts stay texts, a picture is a data: URL, a table is made anew
// of the texts of its cells, and other HTML is shown in a frame that has no script, no origin and no network.

const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const TEXTS = ["text/markdown", "text/latex", "text/plain"];
const DATA = "ipybox/cell"; // in _meta of the result
const PIECE_MAX = 200000; // characters
const ROWS_MAX = 500;
const COLUMNS_MAX = 60;
const STATUS = {
  ok: "Done", error: "Error", timeout: "Timed out", cancelled: "Cancelled", lost: "The kernel died", stopped: "Stopped", refused: "Not run",
};
let over = false; // the result is there, or none will come

const note = (text) => make("p", text, "note");
const joined = (text) => (Array.isArray(text) ? text.join("") : typeof text === "string" ? text : "");

// As a terminal shows it at the end.
function settled(text) {
  const plain = text.replace(/\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)/g, "");
  return plain.split("\n").map((line) => line.replace(/\r+$/, "").split("\r").pop()).join("\n");
}

function textPiece(text, kind = "") {
  const shown = settled(text).replace(/^\n+|\s+$/g, "");
  const piece = make("pre", shown.slice(0, PIECE_MAX), kind);
  piece.tabIndex = 0;
  return shown.length > PIECE_MAX ? [piece, note(`${PIECE_MAX} of ${shown.length} characters are shown.`)] : shown ? [piece] : [];
}

function picture(url, text) {
  const image = make("img");
  image.alt = text || "A picture";
  image.src = url;
  return [image];
}

// ---- HTML ----

function copiedCell(cell) {
  const copy = make(cell.localName === "th" ? "th" : "td", cell.textContent.trim());
  copy.colSpan = cell.colSpan;
  copy.rowSpan = cell.rowSpan;
  return copy;
}

function copiedTable(table) {
  const copy = make("table");
  const wide = make("div", "", "wide");
  if (table.caption) copy.append(make("caption", table.caption.textContent.trim()));
  for (const row of [...table.rows].slice(0, ROWS_MAX)) {
    const line = make("tr");
    line.append(...[...row.cells].slice(0, COLUMNS_MAX).map(copiedCell));
    copy.append(line);
  }
  wide.tabIndex = 0;
  wide.append(copy);
  return table.rows.length > ROWS_MAX ? [wide, note(`${ROWS_MAX} of ${table.rows.length} rows are shown.`)] : [wide];
}

function htmlPiece(html, text) {
  const parsed = new DOMParser().parseFromString(html, "text/html"); // runs and fetches nothing
  const tables = [...parsed.querySelectorAll("table")].filter((table) => !table.parentElement.closest("table"));
  if (tables.length) {
    for (const hidden of parsed.querySelectorAll("script, style")) hidden.remove();
    return tables.flatMap(copiedTable);
  }
  if (parsed.querySelector("script")) return [...textPiece(text), note("It needs script, which is not run here. The notebook of the session has it.")];
  const frame = make("iframe");
  frame.sandbox = "";
  frame.title = "HTML that the cell displayed";
  frame.srcdoc = html;
  return [frame];
}

// ---- outputs ----

function bundle(data) {
  const text = joined(data["text/plain"]);
  const type = PICTURES.find((name) => joined(data[name]));
  if (type) return picture(`data:${type};base64,${joined(data[type]).replace(/[^A-Za-z0-9+/=]/g, "")}`, text);
  if (joined(data["image/svg+xml"])) return picture(`data:image/svg+xml,${encodeURIComponent(joined(data["image/svg+xml"]))}`, text);
  if (joined(data["text/html"])) return htmlPiece(joined(data["text/html"]), text);
  if (joined(data["application/javascript"])) return [note("It is script, which is not run here.")];
  if (data["application/json"] !== undefined && !text) return textPiece(JSON.stringify(data["application/json"], null, 2));
  return textPiece(joined(data[TEXTS.find((name) => joined(data[name]))]));
}

function failure({ ename, evalue, traceback }) {
  const lines = make("details");
  lines.append(make("summary", "Traceback"), ...textPiece((traceback ?? []).join("\n")));
  return [...textPiece(`${ename}: ${evalue}`, "bad"), lines];
}

function output(one) {
  if (one.output_type === "stream") return textPiece(joined(one.text));
  if (one.output_type === "error") return failure(one);
  if (one.output_type === "omitted") return [note(`An output of ${one.bytes} bytes is too large for this page. The notebook of the session has it.`)];
  return bundle(one.data ?? {});
}

// Of a result without data for a page, and what the server itself has to say.
function block({ type, text, data, mimeType }) {
  if (type === "text") return text.startsWith("[ipybox] ") ? [note(text)] : textPiece(text);
  return type === "image" && PICTURES.includes(mimeType) ? picture(`data:${mimeType};base64,${data}`) : [];
}

// ---- the page ----

function showVariables(variables = []) {
  const rows = variables.map(({ name, type, value }) => {
    const row = make("tr");
    row.append(make("td", name), make("td", type), make("td", value));
    return row;
  });
  const head = make("tr");
  head.append(make("th", "Name"), make("th", "Type"), make("th", "Value"));
  $("variables").querySelector("table").replaceChildren(head, ...rows);
  $("variables").querySelector("summary").textContent = `Variables (${rows.length})`;
  $("variables").hidden = rows.length === 0;
}

function showFiles(files = []) {
  $("files").querySelector("ul").replaceChildren(...files.map(({ path, mime }) => make("li", `${path} (${mime})`)));
  $("files").hidden = files.length === 0;
}

function showStatus(status, reason = "") {
  over = true;
  showApprovals({});
  $("status").textContent = STATUS[status] ?? status;
  $("status").className = status === "ok" ? "ok" : "bad";
  $("reason").textContent = reason;
}

function showResult({ content = [], isError, _meta: meta }) {
  const cell = meta?.[DATA];
  const outputs = cell?.outputs ?? [];
  const told = content.filter(({ type, text }) => !outputs.length || (type === "text" && text.startsWith("[ipybox] ")));
  const pieces = [...outputs.flatMap(output), ...told.flatMap(block)];
  showStatus(cell?.status ?? (isError ? "error" : "ok"), cell?.reason);
  $("output").replaceChildren(...(pieces.length ? pieces : [note("The cell has no output.")]));
  showVariables(cell?.variables);
  showFiles(cell?.files);
}

function showCode({ arguments: given }) {
  $("code").querySelector("pre").textContent = joined(given?.code);
  $("code").hidden = !joined(given?.code);
  const uri = typeof given?.session === "string" ? `ipybox://sessions/${given.session}/approvals.json` : "ipybox://session/approvals.json";
  if (host.serverResources) watchApprovals(uri, () => !over);
}

connect("ipybox cell", {
  "ui/notifications/tool-input": showCode,
  "ui/notifications/tool-result": showResult,
  "ui/notifications/tool-cancelled": ({ reason }) => showStatus("cancelled", joined(reason)),
});
