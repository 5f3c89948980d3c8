// SPDX-License-Identifier: Apache-2.0
//
// The side panels: sessions, packages, MCP servers with their tools, the sandbox, the server.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { ask, get, post, readEvents, sessionPath } from "../api";
import {
  attempt,
  createSession,
  endSession,
  health,
  mayApprove,
  newKernel,
  openSession,
  role,
  run,
  say,
  session,
  sessionId,
  sessions,
} from "../state";
import { duration, messageOf, visible } from "../text";
import type { McpServer, Package, Sandbox, Session, Tool } from "../types";
import { save } from "./files";
import { SchemaForm } from "./form";
import { Button, confirm, Field, Search } from "./ui";

// ---- sessions ----

const STATES: Record<Session["state"], string> = { starting: "starts", idle: "idle", busy: "busy", down: "no kernel" };

async function end(id: string): Promise<void> {
  if (await confirm(`End the session ${id}? Its variables and its running cells are lost; files stay.`, "End it")) await endSession(id);
}

async function reset(): Promise<void> {
  if (await confirm(`Start a new kernel for ${sessionId.value}? Its variables are lost; files stay.`, "New kernel")) await newKernel();
}

async function saveNotebook(format: "ipynb" | "py"): Promise<void> {
  await attempt(async () => {
    const answer = await ask("GET", `${sessionPath(sessionId.value)}/notebook${format === "py" ? "?format=py" : ""}`);
    save([await answer.blob()], `${sessionId.value}.${format}`);
  });
}

function SessionRow({ one }: { one: Session }): JSX.Element {
  const here = one.id === sessionId.value;
  return (
    <li class={here ? "here" : ""}>
      <button type="button" class="name" aria-current={here ? "true" : undefined} onClick={() => openSession(one.id)}>
        <span class={`dot ${one.state}`} aria-hidden="true" />
        {visible(one.id)}
      </button>
      <span class="faint">{one.queued > 1 ? `${one.queued} cells` : STATES[one.state]}</span>
      {one.id !== "default" && <Button icon="close" label={`End the session ${one.id}`} onClick={() => void end(one.id)} />}
    </li>
  );
}

const limitText = (limits: Record<string, number>): string =>
  Object.entries(limits)
    .map(([name, value]) => `${name} ${value.toLocaleString()}`)
    .join(", ");

export function SessionsPanel(): JSX.Element {
  const shown = session.value;
  return (
    <>
      <ul class="list" id="sessions" aria-label="Sessions">
        {sessions.value.map((one) => (
          <SessionRow key={one.id} one={one} />
        ))}
      </ul>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          const id = String(new FormData(form).get("id"));
          void createSession(id ? { id } : {}).then((made) => made && form.reset());
        }}
      >
        <input
          name="id"
          id="new-id"
          class="grow"
          maxLength={64}
          pattern="[A-Za-z0-9_\-][A-Za-z0-9._\-]*"
          placeholder="name of a new session"
          aria-label="Name of a new session"
          autocomplete="off"
          spellcheck={false}
        />
        <button class="button plain">Create</button>
      </form>
      {shown && (
        <section aria-label="The session that is shown">
          <h3>{visible(shown.id)}</h3>
          <dl class="facts">
            <dt>since</dt>
            <dd>{new Date(shown.created_ms).toLocaleString()}</dd>
            <dt>works in</dt>
            <dd>
              <code>{visible(shown.cwd)}</code>
            </dd>
            <dt>a cell may run</dt>
            <dd>{duration(shown.timeout_ms)}</dd>
            <dt>ends unused after</dt>
            <dd>{shown.idle_timeout_ms > 0 ? duration(shown.idle_timeout_ms) : "it stays"}</dd>
            {Object.keys(shown.limits).length > 0 && (
              <>
                <dt>limits</dt>
                <dd>{limitText(shown.limits)}</dd>
              </>
            )}
          </dl>
          <div class="column">
            <Button icon="again" text label="New kernel" kind="plain" onClick={() => void reset()} />
            <Button icon="down" text label="Save as a notebook" kind="plain" onClick={() => void saveNotebook("ipynb")} />
            <Button icon="down" text label="Save as a script" kind="plain" onClick={() => void saveNotebook("py")} />
          </div>
        </section>
      )}
    </>
  );
}

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

async function showSandbox(id: string): Promise<void> {
  try {
    sandbox.value = await get<Sandbox>(`${sessionPath(id)}/sandbox`);
    sandboxWhy.value = "";
  } catch (e) {
    sandbox.value = null;
    sandboxWhy.value = messageOf(e);
  }
}

export function SandboxPanel(): JSX.Element {
  const id = sessionId.value;
  useEffect(() => {
    if (id && role.value === "admin") void showSandbox(id);
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
          <h3>{visible(id)}</h3>
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
