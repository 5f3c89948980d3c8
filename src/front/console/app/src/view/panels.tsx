// SPDX-License-Identifier: Apache-2.0
//
// The side panels: packages, MCP servers with their tools, the sandbox, the server.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { ask, get, post, readEvents, sessionPath } from "../api";
import { attempt, health, mayApprove, role, run, say, sessionId } from "../state";
import { messageOf, visible } from "../text";
import type { McpServer, Package, Sandbox, Tool } from "../types";
import { SchemaForm } from "./form";
import { Button, confirm, Field, Search } from "./ui";

// ---- packages ----

const packages = signal<Package[] | null>(null);
const sought = signal("");
const installing = signal("");

async function listPackages(): Promise<void> {
  packages.value = (await get<{ packages: Package[] }>("v1/packages")).packages;
}

async function install(name: string): Promise<void> {
  installing.value = `Installing ${name} …`;
  await attempt(async () => {
    const answer = await ask("POST", "v1/packages", { body: { package: name }, headers: { Accept: "text/event-stream" } });
    for await (const event of readEvents(answer.body as ReadableStream<Uint8Array>)) {
      const data = JSON.parse(event.data) as { text?: string; status?: string; output?: string; reason?: string };
      const last = data.text?.trim().split("\n").at(-1);
      if (event.type === "text" && last) installing.value = last;
      if (event.type === "end") say(data.output || data.reason || String(data.status), data.status !== "ok");
    }
    await listPackages();
  });
  installing.value = "";
}

export function PackagesPanel(): JSX.Element {
  useEffect(() => void attempt(listPackages), []);
  const found = packages.value?.filter(({ name }) => name.toLowerCase().includes(sought.value.toLowerCase()));
  return (
    <>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          const name = String(new FormData(form).get("package")).trim();
          if (name) void install(name).then(() => form.reset());
        }}
      >
        <input name="package" class="grow" placeholder="package, such as polars>=1" aria-label="Package to install" autocomplete="off" />
        <button class="button plain" disabled={installing.value !== ""}>
          Install
        </button>
      </form>
      {installing.value && <p role="status">{visible(installing.value)}</p>}
      <Search label="Find a package" value={sought} />
      <ul class="list">
        {found?.map(({ name, version }) => (
          <li key={name}>
            <span class="name">{visible(name)}</span>
            <span class="faint">{visible(version)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

// ---- MCP servers ----

const servers = signal<McpServer[]>([]);
const openServer = signal("");
const tools = signal<Tool[]>([]);
const openTool = signal<Tool | null>(null);
const toolSought = signal("");

async function listServers(): Promise<void> {
  servers.value = (await get<{ servers: McpServer[] }>("v1/mcp-servers")).servers;
}

async function showServer(name: string): Promise<void> {
  openTool.value = null;
  if (openServer.value === name) {
    openServer.value = "";
    return;
  }
  await attempt(async () => {
    tools.value = (await get<{ tools: Tool[] }>(`v1/mcp-servers/${encodeURIComponent(name)}`)).tools;
    openServer.value = name;
  });
}

async function addServer(form: HTMLFormElement): Promise<void> {
  const data = new FormData(form);
  await attempt(async () => {
    const where = String(data.get("where")).trim();
    const words = where.split(/\s+/);
    const params = /^https?:\/\//.test(where) ? { url: where } : { command: words[0], args: words.slice(1) };
    say(`Starting ${data.get("name")} …`);
    await post("v1/mcp-servers", { name: String(data.get("name")), params });
    say(`from mcptools import ${data.get("name")}`);
    form.reset();
    await listServers();
  });
}

async function removeServer(name: string): Promise<void> {
  if (!(await confirm(`End the MCP server ${name}? Its package stays, calls of it fail.`, "End it"))) return;
  await attempt(async () => {
    await ask("DELETE", `v1/mcp-servers/${encodeURIComponent(name)}`);
    await listServers();
  });
}

// Tools are tried as code would call them: as a cell, with approval, audit and sandbox as always.
async function tryTool(server: string, tool: Tool, values: Record<string, unknown>): Promise<void> {
  const module = tool.name.replace(/[^A-Za-z0-9_]/g, "_");
  const literal = JSON.stringify(JSON.stringify(values));
  await run(
    `import json\nfrom mcptools.${server} import ${module}\n${module}.run(${module}.Params(**json.loads(${literal})))`,
  );
}

function ToolRow({ server, tool }: { server: string; tool: Tool }): JSX.Element {
  const open = openTool.value === tool;
  return (
    <li class="tool">
      <button type="button" class="name" aria-expanded={open} onClick={() => (openTool.value = open ? null : tool)}>
        {visible(tool.name)}
      </button>
      <p class="faint">{visible(tool.description).slice(0, open ? 4000 : 120)}</p>
      {open && (
        <SchemaForm schema={tool.inputSchema ?? {}} send="Call it in a cell" onSend={(values) => void tryTool(server, tool, values)} />
      )}
    </li>
  );
}

function ServerRow({ one }: { one: McpServer }): JSX.Element {
  const open = openServer.value === one.name;
  const fits = (tool: Tool): boolean => `${tool.name} ${tool.description}`.toLowerCase().includes(toolSought.value.toLowerCase());
  return (
    <li>
      <div class="row">
        <button type="button" class="name" aria-expanded={open} onClick={() => void showServer(one.name)}>
          <span class={`dot ${one.state}`} aria-hidden="true" />
          {visible(one.name)}
        </button>
        <span class="faint">
          {one.state}, {one.tool_count} tools
        </span>
        {role.value === "admin" && <Button icon="close" label={`End the MCP server ${one.name}`} onClick={() => void removeServer(one.name)} />}
      </div>
      {one.error && <p class="bad">{visible(one.error)}</p>}
      {open && (
        <>
          <p class="faint">
            <code>{visible(one.shown)}</code> {one.note && visible(one.note)}
          </p>
          <Search label="Find a tool" value={toolSought} />
          <ul class="list">
            {tools.value.filter(fits).map((tool) => (
              <ToolRow key={tool.name} server={one.name} tool={tool} />
            ))}
          </ul>
        </>
      )}
    </li>
  );
}

export function ServersPanel(): JSX.Element {
  useEffect(() => void attempt(listServers), []);
  return (
    <>
      <ul class="list" aria-label="MCP servers">
        {servers.value.map((one) => (
          <ServerRow key={one.name} one={one} />
        ))}
      </ul>
      {servers.value.length === 0 && <p class="faint">No MCP server is registered. Code would call its tools as Python functions.</p>}
      {role.value === "admin" && (
        <form
          class="column"
          onSubmit={(event) => {
            event.preventDefault();
            void addServer(event.currentTarget);
          }}
        >
          <Field label="Name, a Python identifier">
            <input name="name" required pattern="[A-Za-z_][A-Za-z0-9_]*" autocomplete="off" />
          </Field>
          <Field label="Command line or URL">
            <input name="where" required placeholder="uvx mcp-server-fetch" autocomplete="off" spellcheck={false} />
          </Field>
          <button class="button plain">Register</button>
        </form>
      )}
    </>
  );
}

// ---- the sandbox ----

const sandbox = signal<Sandbox | null>(null);
const sandboxWhy = signal("");
const REFUSED_MS = 2000; // between two looks at what was refused

async function showSandbox(id: string): Promise<void> {
  try {
    sandbox.value = await get<Sandbox>(`${sessionPath(id)}/sandbox`);
    sandboxWhy.value = "";
  } catch (e) {
    sandbox.value = null;
    sandboxWhy.value = messageOf(e);
  }
}

function Refused({ items }: { items: Sandbox["refused"] }): JSX.Element {
  if (items.length === 0) return <p class="faint">Nothing was refused so far.</p>;
  return (
    <ul class="list" id="refused" aria-label="What was refused, the newest first">
      {items.toReversed().map(({ time, what }, at) => (
        <li class="row" key={items.length - at}>
          <code class="grow">{visible(what)}</code>
          <time class="faint" dateTime={time}>
            {new Date(time).toLocaleTimeString()}
          </time>
        </li>
      ))}
    </ul>
  );
}

export function SandboxPanel(): JSX.Element {
  const id = sessionId.value;
  useEffect(() => {
    if (!id || role.value !== "admin") return;
    void showSandbox(id);
    const timer = setInterval(() => void showSandbox(id), REFUSED_MS);
    return () => clearInterval(timer);
  }, [id]);
  const general = health.value?.sandbox;
  return (
    <>
      {general && (
        <p>
          {general.kernels ? "Kernels run in a sandbox." : "Kernels run without a sandbox; the container is their boundary."} The machine
          grants level <strong>{general.level}</strong>: {visible(general.detail)}
        </p>
      )}
      {role.value !== "admin" && <p class="faint">The settings of a session are shown to who has the administrator's token.</p>}
      {sandbox.value && (
        <>
          <h2>{visible(id)}</h2>
          <Refused items={sandbox.value.refused} />
          <pre class="meaning">{visible(sandbox.value.meaning)}</pre>
          <details>
            <summary>Settings ({sandbox.value.source === "server" ? "the server's" : "the session's own"})</summary>
            <pre>{visible(JSON.stringify(sandbox.value.settings, null, 2))}</pre>
          </details>
        </>
      )}
      {sandboxWhy.value && <p class="faint">{visible(sandboxWhy.value)}</p>}
    </>
  );
}

// ---- the server ----

export function ServerPanel(): JSX.Element {
  const now = health.value;
  if (!now) return <p class="faint">The server has not answered yet.</p>;
  return (
    <>
      <dl class="facts">
        <dt>version</dt>
        <dd>{now.version}</dd>
        <dt>instance</dt>
        <dd>{visible(now.instance)}</dd>
        <dt>health</dt>
        <dd>{now.status}</dd>
        {now.identity && (
          <>
            <dt>identity</dt>
            <dd>
              server uid {now.identity.server}, kernels uid {now.identity.kernels}
              {now.identity.apart ? "" : ": code can take what the server has"}
            </dd>
          </>
        )}
        <dt>audit log</dt>
        <dd>{now.audit ?? "off"}</dd>
        <dt>this token may</dt>
        <dd>{role.value === "admin" ? "do everything" : role.value === "execute" ? "run code" : "decide approvals"}</dd>
        <dt>approvals</dt>
        <dd>{mayApprove.value ? "are asked here" : "are asked elsewhere"}</dd>
      </dl>
      <ul class="links">
        <li>
          <a href="openapi.json" target="_blank" rel="noopener">
            The HTTP API (OpenAPI)
          </a>
        </li>
        <li>
          <a href="metrics" target="_blank" rel="noopener">
            Metrics
          </a>
        </li>
      </ul>
    </>
  );
}
