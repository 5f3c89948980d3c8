// SPDX-License-Identifier: Apache-2.0
//
// A host of MCP Apps, of its own SDK: a client of /mcp, and a bridge for each page that is shown. test_apps.py drives it.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { AppBridge, PostMessageTransport, RESOURCE_MIME_TYPE, getToolUiResourceUri } from '@modelcontextprotocol/ext-apps/app-bridge';
import { GUARD } from './guard.mjs';

const patient = { timeout: GUARD };
const SANDBOX = 'http://127.0.0.1:9002/sandbox.html';
const info = { name: 'apps-test', version: '1' };
let client = null;
let shown = null; // the bridge of the page
const seen = { sizes: [] };

async function connect(token, mode) {
    const capabilities = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [RESOURCE_MIME_TYPE] } } };
    const versionNegotiation = { mode: mode === 'legacy' ? mode : { pin: mode } };
    client = new Client(info, { capabilities, versionNegotiation });
    const requestInit = { headers: { Authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', location.href), { requestInit }), patient);
    return client.getServerCapabilities();
}

// Shows a page, and gives it a tool's arguments, when there are some. Ends when the page is ready.
async function show(uri, given, hostContext = {}, hostCapabilities = { serverResources: {} }) {
    const { contents } = await client.readResource({ uri }, patient);
    const [{ text: html, _meta: meta }] = contents;
    const frame = document.createElement('iframe');
    frame.src = SANDBOX;
    document.querySelector('#apps').replaceChildren(frame);
    const bridge = new AppBridge(client, info, hostCapabilities, { hostContext });
    bridge.addEventListener('sandboxready', () => bridge.sendSandboxResourceReady({ html, csp: meta.ui.csp, sandbox: 'allow-scripts allow-same-origin' }));
    bridge.addEventListener('sizechange', ({ height }) => {
        seen.sizes.push(height);
        frame.style.height = `${height}px`;
    });
    const ready = new Promise((done) => bridge.addEventListener('initialized', done));
    await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
    await ready;
    shown = bridge;
    if (given) await bridge.sendToolInput({ arguments: given });
    return meta;
}

const call = (code) => client.callTool({ name: 'execute_ipython_cell', arguments: { code } }, patient);

// As a host does it: the tool's page, its arguments, the call, its result.
async function run(code, context) {
    const { tools } = await client.listTools({}, patient);
    const tool = tools.find(({ name }) => name === 'execute_ipython_cell');
    await show(getToolUiResourceUri(tool), { code }, context);
    const result = await call(code);
    await shown.sendToolResult(result);
    return result;
}

// What goes on meanwhile; its end is window.host.last, also where it fails.
function begin(promise) {
    window.host.busy = true;
    window.host.last = promise.catch((error) => ({ failed: String(error) })).finally(() => { window.host.busy = false; });
}

window.host = { connect, show, run, call, begin, seen, bridge: () => shown, busy: false, last: null };
