// SPDX-License-Identifier: Apache-2.0
//
// Drives an MCP server with the TypeScript client and prints what it saw as one JSON object; test_typescript.py judges.
//   node typescript.mjs MODE COMMAND [ARGUMENT...]      MODE: legacy, auto, or the version to pin
//   node typescript.mjs MODE URL
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [mode, command, ...args] = process.argv.slice(2);
const versionNegotiation = { mode: ['legacy', 'auto'].includes(mode) ? mode : { pin: mode } };
const client = new Client({ name: 'typescript-test', version: '1' }, { versionNegotiation });
const seen = {};

const seconds = (since) => (performance.now() - since) / 1000;
const call = (name, args, options) => client.callTool({ name, arguments: args }, options);
const cell = (code, more = {}, options = {}) => call('execute_ipython_cell', { code, ...more }, options);
const failure = (error) => ({ name: error.name, code: error.code, message: error.message });
const attempt = (promise) => promise.then(() => null, failure);

const isUrl = command.startsWith('http');
const transport = () => (isUrl ? new StreamableHTTPClientTransport(new URL(command)) : new StdioClientTransport({ command, args }));
await client.connect(transport());
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
seen.timeout = await cell('import time; time.sleep(60)', { timeout: 0.5 });
seen.wrongArguments = await call('execute_ipython_cell', {});
seen.unknownTool = await attempt(call('nonsense', {}));

// A message larger than a pipe holds and than the server reads at once, in both directions.
const long = 'abcdefgh'.repeat(1 << 17);
seen.long = (await cell(`print('${long}')`, { max_output_chars: 3000000 })).content[0].text === long;

seen.progress = [];
const start = performance.now();
const onprogress = (progress) => seen.progress.push({ ...progress, at: seconds(start) });
const steps = 'import time\nfor n in range(3):\n    print("step", n)\n    time.sleep(1)';
seen.progressResult = await cell(steps, {}, { onprogress });
seen.progressEnd = seconds(start);

const endless = 'ended = None\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    ended = "interrupted"';
const abort = new AbortController();
setTimeout(() => abort.abort(), 4000);
seen.aborted = await attempt(cell(endless, {}, { signal: abort.signal }));
const afterAbort = performance.now();
seen.afterAbort = await cell('(x, ended)');
seen.afterAbortSeconds = seconds(afterAbort);

seen.gaveUp = await attempt(cell(endless, {}, { timeout: 4000 }));
seen.afterGaveUp = await cell('(x, ended)');

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

const close = async (it) => {
    const start = performance.now();
    await it.close();
    return seconds(start);
};
seen.clients = 1;
seen.closeSeconds = await close(client);
while (seen.closeSeconds >= 2 && seen.clients < 3) {        // the engine itself may be slow to take a container down
    const other = new Client({ name: 'typescript-test', version: '1' }, { versionNegotiation });
    await other.connect(transport());
    seen.clients++;
    seen.closeSeconds = await close(other);
}
console.log(JSON.stringify(seen));
