// SPDX-License-Identifier: Apache-2.0
//
// Drives the kernel gateway with JupyterLab's own client and prints what it saw as one JSON object; test_frameworks.py judges.
//   node jupyterlab.mjs URL TOKEN
import { KernelManager, KernelSpecManager, ServerConnection, SessionManager } from '@jupyterlab/services';

const [baseUrl, token] = process.argv.slice(2);
const serverSettings = ServerConnection.makeSettings({ baseUrl, wsUrl: baseUrl.replace('http', 'ws'), token, appendToken: true });
const seen = {};

const run = async (kernel, code, heard = () => {}) => {
  const texts = [];
  const future = kernel.requestExecute({ code });
  future.onIOPub = (message) => {
    if (message.header.msg_type === 'stream') texts.push(message.content.text);
    if (message.header.msg_type === 'error') texts.push(message.content.ename);
    heard(message.header.msg_type);
  };
  future.onStdin = () => kernel.sendInputReply({ status: 'ok', value: 'said' }, future.msg.header);
  await future.done;
  return texts.join('');
};

const specs = new KernelSpecManager({ serverSettings });
await specs.ready;
seen.specs = Object.keys(specs.specs.kernelspecs);
const kernels = new KernelManager({ serverSettings });
const sessions = new SessionManager({ kernelManager: kernels, serverSettings });
await sessions.ready;
const session = await sessions.startNew({ path: 'a.ipynb', type: 'notebook', name: 'a', kernel: { name: 'python3' } });
const kernel = session.kernel;
seen.info = (await kernel.info).language_info.name;
seen.printed = await run(kernel, 'x = 6; print(x * 7)');
seen.kept = await run(kernel, 'print(x)');
seen.asked = await run(kernel, 'print(input("name? "))');
seen.interrupted = await run(kernel, 'print("begun", flush=True)\nwhile True: pass', (type) => type === 'stream' && kernel.interrupt());
await kernel.restart();
seen.restarted = await run(kernel, 'print("x" in globals())');
await session.shutdown();
await kernels.refreshRunning();
seen.left = [...kernels.running()].filter((one) => one.id === kernel.id).length;
console.log(JSON.stringify(seen));
process.exit(0);
