// SPDX-License-Identifier: Apache-2.0
//
// A host of MCP Apps, of its own SDK: a client of /mcp, and a bridge for each page that is shown. test_apps.py drives it.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { AppBridge, PostMessageTransport, RESOURCE_MIME_TYPE, getToolUiResourceUri } from '@modelcontextprotocol/ext-apps/app-bridge';

const SANDBOX = 'http://127.0.0.1:9002/sandbox.html';
const info = { name: 'apps-test', version: '1' };
let client = null;
let shown = null; // the bridge of the page
const seen = { sizes: [], asked: [] };

async function connect(token, mode) {
    const capabilities = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [RESOURCE_MIME_TYPE] } } };
    const versionNegotiation = { mode: mode === 'legacy' ? mode : { pin: mode } };
    client = new Client(info, { capabilities, versionNegotiation });
    const requestInit = { headers: { Authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', location.href), { requestInit }));
    return client.getServerCapabilities();
}

// Shows a page, and gives it a tool's arguments, when there are some. Ends when the page is ready.
async function show(uri, given, hostContext = {}, hostCapabilities = { serverResources: {} }) {
    const { contents } = await client.readResource({ uri });
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
    const { readResource } = client;
    client.readResource = (params, options) => {
        seen.asked.push(params.uri);
        return readResource.call(client, params, options);
    };
    await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
    await ready;
    client.readResource = readResource;
    shown = bridge;
    if (given) await bridge.sendToolInput({ arguments: given });
    return meta;
}

// As a host does it: the tool's page, its arguments, the call, its result.
async function run(code, context) {
    const { tools } = await client.listTools();
    const tool = tools.find(({ name }) => name === 'execute_ipython_cell');
    const given = { code };
    await show(getToolUiResourceUri(tool), given, context);
    const result = await client.callTool({ name: tool.name, arguments: given });
    await shown.sendToolResult(result);
    return result;
}

window.host = { connect, show, run, seen, bridge: () => shown, client: () => client };
