// SPDX-License-Identifier: Apache-2.0
// E2B's SDKs for JavaScript: what they see of a server, as JSON on standard output.
import { Sandbox } from '@e2b/code-interpreter'

async function pausing() {
  const sandbox = await Sandbox.create()
  await sandbox.runCode('kept = 41')
  const first = await sandbox.pause()
  const second = await sandbox.pause()
  const { state } = await sandbox.getInfo()
  await Sandbox.connect(sandbox.sandboxId)
  const on = (await sandbox.runCode('kept')).text
  await sandbox.kill()
  return { first, second, state, on }
}

async function forking() {
  const sandbox = await Sandbox.create()
  await sandbox.runCode('kept = [1]')
  const [first, second] = await sandbox.fork({ count: 2, timeoutMs: 60_000 })
  const own = (await first.runCode('kept.append(2); kept')).text
  const other = (await second.runCode('kept')).text
  const snapshot = await failure(sandbox.createSnapshot())
  const snapshots = (await Sandbox.listSnapshots().nextItems()).length
  const killed = [await sandbox.kill(), await first.kill(), await Sandbox.kill(second.sandboxId)]
  return { own, other, killed, snapshot: snapshot.message, snapshots, unknown: await failure(Sandbox.fork('nosuchsandbox')) }
}

async function failure(promise) {
  return promise.then(() => null, (error) => ({ name: error.constructor.name, message: error.message }))
}

async function seenOfControl(sandbox) {
  const info = await sandbox.getInfo()
  const page = await Sandbox.list({ query: { metadata: { who: 'the tests & all' } } }).nextItems()
  const other = await Sandbox.list({ query: { metadata: { who: 'nobody' } } }).nextItems()
  await sandbox.setTimeout(120_000)
  const connected = await Sandbox.connect(sandbox.sandboxId)
  return {
    info: { id: info.sandboxId, metadata: info.metadata, state: info.state },
    listed: page.map((one) => one.sandboxId), other: other.length, connected: connected.sandboxId,
    running: await sandbox.isRunning(), pause: await pausing(), fork: await forking(),
    unknown: await failure(Sandbox.connect('nosuchsandbox')), key: await failure(Sandbox.create({ apiKey: 'e2b_ffff' })),
  }
}

async function seenOfCode(sandbox) {
  const lines = []
  const run = await sandbox.runCode("print('out')\nx = 20\nx + 1", { onStdout: (line) => lines.push(line.line) })
  const forms = await sandbox.runCode("from IPython.display import *\ndisplay(HTML('<b>b</b>'))\ndisplay(JSON({'a': [1]}))")
  const error = await sandbox.runCode("int('x')")
  const env = await sandbox.runCode("import os; os.getenv('FOO') + os.getenv('MORE')", { envs: { MORE: 'm' } })
  const bash = await sandbox.runCode('echo $((6 * 7))', { language: 'bash' })
  const endless = 'import time\ntry:\n    begun = True\n    time.sleep(2000)\nexcept KeyboardInterrupt:\n    left = True'
  await sandbox.runCode('begun = left = None')
  const left = await failure(sandbox.runCode(endless, { timeoutMs: 1000 }))
  return {
    lines: lines.join(''), text: run.text, count: run.executionCount, html: forms.results[0].html, json: forms.results[1].json,
    error: error.error.name, env: env.text, bash: bash.logs.stdout.join(''), left, was: (await sandbox.runCode('(begun, left)')).text,
    language: await failure(sandbox.runCode('1', { language: 'r' })),
  }
}

async function seenOfContexts(sandbox) {
  const context = await sandbox.createCodeContext({ cwd: '/home/user' })
  await sandbox.runCode('only = 1', { context })
  const inside = (await sandbox.runCode('only', { context })).text
  const outside = (await sandbox.runCode('only')).error.name
  const listed = (await sandbox.listCodeContexts()).some((one) => one.id === context.id)
  await sandbox.restartCodeContext(context)
  const restarted = (await sandbox.runCode('only', { context })).error.name
  await sandbox.removeCodeContext(context)
  const removed = !(await sandbox.listCodeContexts()).some((one) => one.id === context.id)
  return { cwd: context.cwd, language: context.language, inside, outside, listed, restarted, removed }
}

const sandbox = await Sandbox.create({ metadata: { who: 'the tests & all' }, envs: { FOO: 'f' } })
const seen = { id: sandbox.sandboxId, control: await seenOfControl(sandbox), code: await seenOfCode(sandbox) }
seen.contexts = await seenOfContexts(sandbox)
seen.killed = [await sandbox.kill(), await sandbox.kill(), await sandbox.isRunning()]
process.stdout.write(`${JSON.stringify(seen)}\n`, () => process.exit()) // which timers of the SDK would put off for a minute
