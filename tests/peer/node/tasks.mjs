// SPDX-License-Identifier: Apache-2.0
//
// Runs cells with MCP's client for tasks over HTTP and prints what it saw as one JSON object; test_tasks.py judges.
//   node tasks.mjs run URL CODE          runs a cell to its end
//   node tasks.mjs begin URL CODE        begins a cell, and dies with its task's reference written down
//   node tasks.mjs resume URL REFERENCE  waits for the end of that task, as another process
//   node tasks.mjs cancel URL CODE FILE  begins a cell, and cancels it when it has made the file
import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';

const [mode, url, word, file] = process.argv.slice(2);
const version = '2026-07-28';
const clientInfo = { name: 'tasks-test', version: '1' };
const client = new Client(clientInfo, { versionNegotiation: { mode: { pin: version } } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

// The SDK reads no answers of the extension: the package wants the requests to be sent beside it.
let id = 1000;
const rawDispatch = async (request, options) => {
    const headers = {
        Accept: 'application/json, text/event-stream',
        'Content-Type': 'application/json',
        'MCP-Protocol-Version': version,
        'Mcp-Method': request.method,
        'Mcp-Name': request.params.taskId ?? request.params.name,
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: ++id, ...request });
    const text = await (await fetch(url, { method: 'POST', headers, body, signal: options?.signal })).text();
    const data = text.startsWith('{') ? text : text.split('\n').filter((line) => line.startsWith('data: {')).at(-1).slice(6);
    const message = JSON.parse(data);
    return 'error' in message ? { kind: 'error', error: message.error } : { kind: 'result', result: message.result };
};
const v2RequestFraming = { protocolVersion: version, clientInfo, clientCapabilities: {} };
const session = createTaskSessionFromClient(client, { endpointId: 'ipybox', rawDispatch, v2RequestFraming });

const seen = {};
const outcome = async (execution) => (await execution.settle()).outcome;
if (mode === 'resume') {
    seen.outcome = await outcome(await session.resumeTask(JSON.parse(word)));
} else {
    const execution = await session.callTool('execute_ipython_cell', { code: word, timeout: 2000 });
    seen.kind = execution.kind;
    if (mode === 'cancel') {
        while (!existsSync(file)) await pause(50);
        await execution.cancel();
        seen.outcome = await outcome(execution).catch((error) => ({ name: error.name }));
    } else if (mode === 'begin' && execution.kind === 'task') {
        console.log(JSON.stringify({ ...seen, reference: execution.serializeReference() }));
        process.exit();                                     // without a word to the server: closing would cancel
    } else {
        seen.outcome = await outcome(execution);
    }
}
await session.close();
await client.close();
console.log(JSON.stringify(seen));
