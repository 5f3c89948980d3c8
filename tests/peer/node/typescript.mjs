// SPDX-License-Identifier: Apache-2.0
//
// Drives an MCP server with the TypeScript client and prints what it saw as one JSON object; test_typescript.py judges.
//   node typescript.mjs MODE COMMAND [ARGUMENT...]      MODE: legacy, auto, or the version to pin
//   node typescript.mjs MODE URL
// PEER_WORKSPACE is the server's workspace on this machine.
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { GUARD } from './guard.mjs';

const [mode, command, ...args] = process.argv.slice(2);
const versionNegotiation = { mode: ['legacy', 'auto'].includes(mode) ? mode : { pin: mode } };
const client = new Client({ name: 'typescript-test', version: '1' }, { versionNegotiation });
const seen = {};

const call = (name, args, options = {}) => client.callTool({ name, arguments: args }, { timeout: GUARD, ...options });
const cell = (code, more = {}, options = {}) => call('execute_ipython_cell', { code, ...more }, options);
const failure = (error) => ({ name: error.name, code: error.code, message: error.message });
const attempt = (promise) => promise.then(() => null, failure);

const isUrl = command.startsWith('http');
const transport = () => (isUrl ? new StreamableHTTPClientTransport(new URL(command)) : new StdioClientTransport({ command, args }));
await client.connect(transport(), { timeout: GUARD });
seen.era = client.getProtocolEra();
seen.version = client.getNegotiatedProtocolVersion();
seen.server = client.getServerVersion();
seen.capabilities = client.getServerCapabilities();
seen.instructions = client.getInstructions();

seen.tools = (await client.listTools()).tools;
seen.print = await cell('print("hello world")');
await cell('x = 40');
seen.state = await cell('x + 2');
seen.unicode = await cell('print("ä🐍\\u2028")');
seen.error = await cell('1/0');
seen.timeout = await cell('import time; time.sleep(2000)', { timeout: 0.5 });
seen.wrongArguments = await call('execute_ipython_cell', {});
seen.unknownTool = await attempt(call('nonsense', {}));

// A message larger than a pipe holds and than the server reads at once, in both directions.
const long = 'abcdefgh'.repeat(1 << 17);
seen.long = (await cell(`print('${long}')`, { max_output_chars: 3000000 })).content[0].text === long;

// The cell goes on when its output has been heard as progress.
seen.progress = [];
const mark = `heard-${randomUUID()}`;
const onprogress = (progress) => {
    seen.progress.push(progress);
    const heard = seen.progress.map(({ message }) => message).join('');
    for (const n of [0, 1]) if (heard.includes(`step ${n}\n`)) writeFileSync(join(process.env.PEER_WORKSPACE, `${mark}-${n}`), '');
};
const held = `import os, time\nfor n in range(2):\n    print("step", n)\n    while not os.path.exists(f"${mark}-{n}"): time.sleep(0.01)`;
seen.progressResult = await cell(held, {}, { onprogress });

// One call is given up when its cell has begun, the other by the client's clock.
const forever = { timeout: 2000 };
const endless = `import time\ntry:\n    begun = True\n    print("begun", flush=True)\n    time.sleep(${forever.timeout})\nexcept KeyboardInterrupt:\n    ended = "interrupted"`;
const unseen = 'begun = ended = None';
await cell(unseen);
const abort = new AbortController();
seen.aborted = await attempt(cell(endless, forever, { signal: abort.signal, onprogress: () => abort.abort() }));
seen.afterAbort = await cell('(x, begun, ended)');

await cell(unseen);
seen.gaveUp = await attempt(cell(endless, forever, { timeout: 2000 }));
seen.afterGaveUp = await cell('(x, begun, ended)');

seen.parallel = (await Promise.all([...Array(20).keys()].map((n) => cell(`print(${n})`)))).map((r) => r.content[0].text);

try {
    const subscription = await client.listen({ toolsListChanged: true });
    seen.listen = { honored: subscription.honoredFilter, meanwhile: await cell('"meanwhile"') };
    await subscription.close();
    seen.listen.closed = await subscription.closed;
    seen.listen.afterwards = await cell('"afterwards"');
} catch (error) {
    seen.listen = failure(error);
}

seen.reset = await call('reset', {});
seen.afterReset = await cell('"x" in globals()');

await client.close();
console.log(JSON.stringify(seen));
