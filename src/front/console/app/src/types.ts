// SPDX-License-Identifier: Apache-2.0
//
// Documents of the HTTP API that the page reads (openapi.json describes them).

export interface Session {
  id: string;
  instance: string;
  state: "starting" | "idle" | "busy" | "down";
  cwd: string;
  forked_from?: string;
  timeout_ms: number;
  idle_timeout_ms: number;
  created_ms: number;
  queued: number;
  last_event: number;
  limits: Record<string, number>;
}

export interface Health {
  status: "ok" | "starting" | "stopping";
  version: string;
  instance: string;
  identity?: { server: number; kernels: number; apart: boolean };
  sandbox?: { level: string; kernels: boolean; detail: string };
  audit?: string;
}

export type Schema = Record<string, unknown> & {
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: unknown[];
  enumNames?: string[];
  oneOf?: { const: unknown; title?: string }[];
  anyOf?: { const: unknown; title?: string }[];
  items?: Schema;
  default?: unknown;
  format?: string;
  minLength?: number;
};

export interface Approval {
  id: string;
  session: string;
  server: string;
  shown: string;
  tool?: string;
  arguments?: Record<string, unknown>;
  digest?: string;
  note?: string;
  form?: { message: string; requestedSchema: Schema };
  mine: boolean;
  expires_in_ms?: number;
  endsAt?: number; // by this page's clock
}

export interface Entry {
  name: string;
  type: "file" | "folder" | "link" | "other";
  size: number;
  mtime: number | string;
  encoded?: string;
  target?: string;
}

export interface FolderPage {
  path: string;
  entries: Entry[];
  next?: string;
}

export interface Package {
  name: string;
  version: string;
}

export interface McpServer {
  name: string;
  shown: string;
  state: "stopped" | "starting" | "running" | "failed";
  error?: string;
  tool_count: number;
  note?: string;
}

export interface Tool {
  name: string;
  description: string;
  inputSchema?: Schema;
}

export interface Sandbox {
  session: string;
  level: string;
  source: "server" | "session";
  meaning: string;
  settings: unknown;
  refused: { time: string; what: string }[];
}

export interface Variable {
  name: string;
  type: string;
  value: string;
  shape?: string;
  size?: number;
}

export interface AuditRecord {
  seq: number;
  time: string;
  kind: string;
  session?: string;
  outcome?: string;
  [member: string]: unknown;
}

export type Bundle = Record<string, unknown>;
