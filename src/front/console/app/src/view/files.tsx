// SPDX-License-Identifier: Apache-2.0
//
// The workspace: folders, preview, upload, download, rename, delete.

import { signal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { ask, authorization, get, Refused } from "../api";
import { attempt, filesChanged, say } from "../state";
import { bytes, visible } from "../text";
import type { Entry, FolderPage } from "../types";
import { Button, confirm, Icon } from "./ui";

const PAGE = 500;
const PREVIEW_BYTES = 200_000;
const KEEP_MS = 60_000; // for the browser to take a download over
const PICTURES: Record<string, string> = { png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp" };

const folder = signal("");
const entries = signal<Entry[]>([]);
const more = signal(false);
const transfer = signal<{ text: string; part: number; stop: () => void } | null>(null);
const renaming = signal("");

interface Preview {
  name: string;
  kind: "text" | "picture" | "table" | "none";
  text: string;
  rows: string[][];
  note: string;
}
const preview = signal<Preview | null>(null);

const pathOf = (name: string): string => (folder.value ? `${folder.value}/${name}` : name);
const addressOf = (path: string): string => `v1/files?path=${encodeURIComponent(path)}`;

async function list(): Promise<void> {
  const path = folder.value ? `&path=${encodeURIComponent(folder.value)}` : "";
  const page = await get<FolderPage>(`v1/files?list=true&limit=${PAGE}${path}`);
  const rank = (entry: Entry): number => (entry.type === "folder" ? 0 : 1);
  entries.value = page.entries.sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
  more.value = page.next !== undefined;
}

const relist = (): Promise<boolean> => attempt(list);

function enter(path: string): void {
  folder.value = path;
  preview.value = null;
  void relist();
}

// ---- transfers: one at a time ----

async function begin(what: (signal: AbortSignal, tell: (text: string, part: number) => void) => Promise<void>): Promise<void> {
  if (transfer.value) return say("Another transfer is under way.", true);
  const control = new AbortController();
  const tell = (text: string, part: number): void => {
    transfer.value = { text, part, stop: () => control.abort() };
  };
  say("");
  await attempt(() => what(control.signal, tell));
  if (control.signal.aborted) say("The transfer was stopped.");
  transfer.value = null;
  await relist();
}

export function save(parts: BlobPart[], name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type: "application/octet-stream" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEEP_MS);
}

const download = (entry: Entry): Promise<void> =>
  begin(async (signal, tell) => {
    const answer = await ask("GET", addressOf(pathOf(entry.name)), { signal });
    const reader = (answer.body as ReadableStream<Uint8Array<ArrayBuffer>>).getReader();
    // Parts are given to the browser now and then, which keeps what is large on its disk.
    let parts: BlobPart[] = [];
    for (let got = 0; ; ) {
      const { value, done } = await reader.read();
      if (done) break;
      parts.push(value);
      got += value.length;
      if (parts.length >= 256) parts = [new Blob(parts)];
      tell(`Downloading ${entry.name}`, entry.size > 0 ? got / entry.size : 1);
    }
    save(parts, entry.name);
    say(`${entry.name} is downloaded.`);
  });

// fetch() does not tell how much it has sent.
function send(file: File, replace: boolean, signal: AbortSignal, tell: (text: string, part: number) => void): Promise<void> {
  return new Promise((done, fail) => {
    const request = new XMLHttpRequest();
    request.open("PUT", addressOf(pathOf(file.name)));
    for (const [name, value] of Object.entries(authorization())) request.setRequestHeader(name, value);
    if (!replace) request.setRequestHeader("If-None-Match", "*");
    request.upload.onprogress = ({ loaded }) => tell(`Uploading ${file.name}`, file.size > 0 ? loaded / file.size : 1);
    request.onload = () => {
      if (request.status < 300) return done();
      let detail = request.statusText;
      try {
        detail = String((JSON.parse(request.responseText) as { detail?: string }).detail);
      } catch {
        // no problem document
      }
      fail(new Refused(request.status, detail));
    };
    request.onerror = () => fail(new Error(`${file.name}: the connection broke, or the file cannot be read`));
    request.onabort = () => fail(new DOMException("stopped", "AbortError"));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

// What is there already is replaced if the user says so.
async function uploadOne(file: File, signal: AbortSignal, tell: (text: string, part: number) => void): Promise<boolean> {
  tell(`Uploading ${file.name}`, 0);
  try {
    await send(file, false, signal, tell);
  } catch (e) {
    if (!(e instanceof Refused) || e.status !== 412) throw e;
    if (!(await confirm(`${visible(file.name)} is there already.`, "Replace"))) return false;
    await send(file, true, signal, tell);
  }
  return true;
}

const upload = (files: File[]): Promise<void> =>
  begin(async (signal, tell) => {
    let done = 0;
    for (const file of files) {
      if (await uploadOne(file, signal, tell)) done++;
      signal.throwIfAborted();
    }
    const all = files.length === 1 ? `${files[0]?.name} is uploaded.` : `${done} files are uploaded.`;
    say(done === 0 ? "Nothing is uploaded." : all);
  });

// ---- changes ----

const remove = (entry: Entry): Promise<boolean> =>
  attempt(async () => {
    const what = entry.type === "folder" ? `the folder ${visible(entry.name)} and all that is in it` : visible(entry.name);
    if (!(await confirm(`Delete ${what}?`, "Delete"))) return;
    await ask("DELETE", `${addressOf(pathOf(entry.name))}${entry.type === "folder" ? "&recursive=true" : ""}`);
    if (preview.value?.name === entry.name) preview.value = null;
    await list();
  });

const rename = (entry: Entry, to: string): Promise<boolean> =>
  attempt(async () => {
    renaming.value = "";
    if (!to || to === entry.name) return;
    await ask("POST", addressOf(pathOf(entry.name)), { body: { action: "move", to: pathOf(to) } });
    await list();
  });

const makeFolder = (name: string): Promise<boolean> =>
  attempt(async () => {
    await ask("POST", addressOf(pathOf(name)), { body: { action: "make_folder" } });
    await list();
  });

// ---- preview ----

const extension = (name: string): string => /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";

function table(text: string, separator: string): string[][] {
  return text
    .split(/\r?\n/)
    .filter((line) => line)
    .slice(0, 200)
    .map((line) => [...line.matchAll(new RegExp(`(?:^|${separator})("(?:[^"]|"")*"|[^${separator}]*)`, "g"))].map((m) =>
      (m[1] ?? "").replace(/^"|"$/g, "").replaceAll('""', '"'),
    ));
}

const show = (entry: Entry): Promise<boolean> =>
  attempt(async () => {
    const kind = PICTURES[extension(entry.name)];
    const made: Preview = { name: entry.name, kind: "none", text: "", rows: [], note: "" };
    if (kind && entry.size <= 10_000_000) {
      const data = new Uint8Array(await (await ask("GET", addressOf(pathOf(entry.name)))).arrayBuffer());
      let binary = "";
      for (let i = 0; i < data.length; i += 32_768) binary += String.fromCharCode(...data.subarray(i, i + 32_768));
      preview.value = { ...made, kind: "picture", text: `data:${kind};base64,${btoa(binary)}` };
      return;
    }
    const headers: Record<string, string> = entry.size > 0 ? { Range: `bytes=0-${PREVIEW_BYTES - 1}` } : {};
    const answer = await ask("GET", addressOf(pathOf(entry.name)), { headers });
    const data = new Uint8Array(await answer.arrayBuffer());
    if (data.includes(0)) {
      preview.value = { ...made, note: `${bytes(entry.size)} that are no text` };
      return;
    }
    const text = new TextDecoder().decode(data);
    const note = entry.size > PREVIEW_BYTES ? `The first ${bytes(PREVIEW_BYTES)} of ${bytes(entry.size)}` : "";
    const separator = { csv: ",", tsv: "\t" }[extension(entry.name)];
    if (separator) preview.value = { ...made, kind: "table", rows: table(text, separator), note };
    else preview.value = { ...made, kind: "text", text, note };
  });

function PreviewBox({ of }: { of: Preview }): JSX.Element {
  return (
    <section class="preview" aria-label={`Preview of ${visible(of.name)}`}>
      <header class="row">
        <strong>{visible(of.name)}</strong>
        <span class="grow" />
        <Button icon="close" label="Close the preview" onClick={() => (preview.value = null)} />
      </header>
      {of.note && <p class="faint">{of.note}</p>}
      {of.kind === "picture" && <img src={of.text} alt={visible(of.name)} />}
      {of.kind === "text" && <pre tabIndex={0}>{visible(of.text)}</pre>}
      {of.kind === "table" && (
        <div class="scroll" tabIndex={0}>
          <table>
            {of.rows.map((row, i) => (
              <tr>{row.map((value) => (i === 0 ? <th>{visible(value)}</th> : <td>{visible(value)}</td>))}</tr>
            ))}
          </table>
        </div>
      )}
    </section>
  );
}

// ---- the list ----

function Row({ entry }: { entry: Entry }): JSX.Element {
  const name = visible(entry.name);
  if (renaming.value === entry.name)
    return (
      <li>
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault();
            void rename(entry, String(new FormData(event.currentTarget).get("name")));
          }}
        >
          <input name="name" defaultValue={entry.name} aria-label={`New name of ${name}`} autocomplete="off" />
          <button class="button plain">Rename</button>
          <Button icon="close" label="Cancel" onClick={() => (renaming.value = "")} />
        </form>
      </li>
    );
  const opens = !entry.encoded && (entry.type === "folder" || entry.type === "file");
  return (
    <li class="entry">
      <Icon name={entry.type === "folder" ? "folder" : "file"} />
      {opens ? (
        <button type="button" class="name" onClick={() => (entry.type === "folder" ? enter(pathOf(entry.name)) : void show(entry))}>
          {name}
        </button>
      ) : (
        <span class="name">{name}</span>
      )}
      <span class="faint">{entry.type === "file" ? bytes(entry.size) : ""}</span>
      {opens && (
        <span class="acts">
          {entry.type === "file" && <Button icon="down" label={`Download ${name}`} onClick={() => void download(entry)} />}
          <Button icon="edit" label={`Rename ${name}`} onClick={() => (renaming.value = entry.name)} />
          <Button icon="trash" label={`Delete ${name}`} onClick={() => void remove(entry)} />
        </span>
      )}
    </li>
  );
}

function Crumbs(): JSX.Element {
  const parts = folder.value ? folder.value.split("/") : [];
  return (
    <nav class="crumbs" aria-label="Folder">
      <button type="button" onClick={() => enter("")}>
        workspace
      </button>
      {parts.map((part, i) => (
        <>
          {" / "}
          <button type="button" onClick={() => enter(parts.slice(0, i + 1).join("/"))}>
            {visible(part)}
          </button>
        </>
      ))}
    </nav>
  );
}

export function FilesPanel(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const over = useRef<HTMLDivElement>(null);
  useSignalEffect(() => {
    void filesChanged.value;
    void relist();
  });
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    over.current?.classList.remove("over");
    const items = [...(event.dataTransfer?.items ?? [])];
    if (items.some((item) => item.webkitGetAsEntry()?.isDirectory)) return say("Only files can be dropped, no folders.", true);
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length > 0) void upload(files);
  };
  return (
    <div
      ref={over}
      id="drop"
      class="drop"
      onDragOver={(event) => {
        event.preventDefault();
        over.current?.classList.add("over");
      }}
      onDragLeave={() => over.current?.classList.remove("over")}
      onDrop={drop}
    >
      <div class="row">
        <Crumbs />
        <span class="grow" />
        <Button icon="up" label="Upload files" onClick={() => input.current?.click()} />
        <Button icon="plus" label="New folder" onClick={() => void makeFolder(`folder-${entries.value.length + 1}`)} />
        <input
          ref={input}
          id="upload"
          type="file"
          multiple
          hidden
          aria-label="Files to upload"
          onChange={(event) => {
            const files = [...(event.currentTarget.files ?? [])];
            event.currentTarget.value = "";
            void upload(files);
          }}
        />
      </div>
      {transfer.value && (
        <div class="progress" id="transfer">
          <progress max={1} value={transfer.value.part} aria-label={visible(transfer.value.text)} />
          <span>{visible(transfer.value.text)}</span>
          <Button icon="close" label="Stop the transfer" onClick={() => transfer.value?.stop()} />
        </div>
      )}
      <ul class="files" id="files">
        {entries.value.map((entry) => (
          <Row key={entry.name} entry={entry} />
        ))}
      </ul>
      {entries.value.length === 0 && <p class="faint">This folder is empty. Drop files here to upload them.</p>}
      {more.value && <p class="faint">Only the first {PAGE} are shown.</p>}
      {preview.value && <PreviewBox of={preview.value} />}
    </div>
  );
}
