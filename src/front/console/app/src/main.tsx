// SPDX-License-Identifier: Apache-2.0
//
// The console: a client of the HTTP API, no more (docs/console.md). What comes from code, servers and files is put in as
// text; what could act is shown in frames without an origin. The page's policy allows nothing else either.

import { signal } from "@preact/signals";
import { type JSX, render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { getToken } from "./api";
import { mayRun, note, online, role, say, sessionId, signedIn, signIn, signInNote, signOut, start } from "./state";
import { visible } from "./text";
import { toggleTheme } from "./theme";
import { Approvals, watchApprovals } from "./view/approvals";
import { FilesPanel } from "./view/files";
import { NotebookView } from "./view/notebook";
import { mayOpen, Terminals, terminals, toggleTerminal } from "./view/terminal";
import { VariablesPanel } from "./view/variables";
import { AuditPanel } from "./view/audit";
import { PackagesPanel, SandboxPanel, ServerPanel, ServersPanel } from "./view/panels";
import { SessionsPanel } from "./view/sessions";
import { Button, Confirmation } from "./view/ui";

// ---- panels ----

const PANELS: { id: string; title: string; view: () => JSX.Element }[] = [
  { id: "sessions", title: "Sessions", view: SessionsPanel },
  { id: "variables", title: "Variables", view: VariablesPanel },
  { id: "files", title: "Files", view: FilesPanel },
  { id: "packages", title: "Packages", view: PackagesPanel },
  { id: "servers", title: "MCP servers", view: ServersPanel },
  { id: "sandbox", title: "Sandbox", view: SandboxPanel },
  { id: "audit", title: "Audit log", view: AuditPanel },
  { id: "server", title: "Server", view: ServerPanel },
];
const WIDE = window.matchMedia("(min-width: 800px)");
const panel = signal(WIDE.matches ? "sessions" : "");

function Side(): JSX.Element | null {
  if (!mayRun.value) return null;
  const shown = PANELS.find(({ id }) => id === panel.value);
  return (
    <aside class={shown ? "side open" : "side"}>
      <nav class="tabs" aria-label="Panels">
        {PANELS.map(({ id, title }) => (
          <button
            key={id}
            type="button"
            class="tab"
            aria-expanded={panel.value === id}
            onClick={() => (panel.value = panel.value === id ? "" : id)}
          >
            {title}
          </button>
        ))}
        {mayOpen() && (
          <button type="button" class="tab" aria-expanded={terminals.value.includes(sessionId.value)} onClick={toggleTerminal}>
            Terminal
          </button>
        )}
      </nav>
      {shown && (
        <section class="panel" id={`panel-${shown.id}`} aria-label={shown.title}>
          <shown.view />
        </section>
      )}
    </aside>
  );
}

// ---- the page ----

function Header(): JSX.Element {
  return (
    <header class="top">
      <h1>ipybox</h1>
      {!online.value && <span class="offline">offline: tries again</span>}
      <p id="status" role="status" class={note.value.bad ? "bad" : ""}>
        {visible(note.value.text)}
      </p>
      {note.value.text && <Button icon="close" label="Clear the message" onClick={() => say("")} />}
      <Button label="Light or dark" text kind="quiet" onClick={toggleTheme} />
      {getToken() && signedIn.value === "yes" && <Button label="Sign out" text kind="quiet" onClick={signOut} />}
    </header>
  );
}

function SignIn(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  return (
    <form
      class="sign-in"
      id="sign-in"
      onSubmit={(event) => {
        event.preventDefault();
        signIn(input.current?.value ?? "");
      }}
    >
      <h2>Sign in</h2>
      <p>
        This server asks for a token. It is the value of <code>IPYBOX_TOKEN</code> that the server was started with, for everything; with{" "}
        <code>IPYBOX_EXECUTE_TOKEN</code> you can run code, with <code>IPYBOX_APPROVER_TOKEN</code> decide approvals.
      </p>
      <label class="field">
        <span>Token</span>
        <input ref={input} id="token" type="password" autocomplete="off" spellcheck={false} required />
      </label>
      {signInNote.value && (
        <p class="bad" role="alert">
          {visible(signInNote.value)}
        </p>
      )}
      <button class="button primary">Sign in</button>
      <p class="faint">The token stays in this tab until it is closed.</p>
    </form>
  );
}

function Page(): JSX.Element {
  return (
    <>
      <Header />
      {signedIn.value === "no" && (
        <main>
          <SignIn />
        </main>
      )}
      {signedIn.value === "yes" && (
        <main class={mayRun.value ? "work" : "approve-only"}>
          <Side />
          <div class="center">
            <Approvals />
            {role.value === "approve" && <p class="mark">This token decides approvals. They appear here, and in the tab's title.</p>}
            <NotebookView />
            <Terminals />
          </div>
        </main>
      )}
      <Confirmation />
    </>
  );
}

// A file that misses its place must not replace the page.
for (const type of ["dragover", "drop"]) document.addEventListener(type, (event) => event.preventDefault());

watchApprovals();
void start();
render(<Page />, document.getElementById("page") as HTMLElement);
