// SPDX-License-Identifier: Apache-2.0
// E2B's SDK for JavaScript: what it sees of files, commands and terminals, as JSON on standard output.
import { Sandbox } from '@e2b/code-interpreter'

async function failure(promise) {
  return promise.then(() => null, (error) => ({ name: error.constructor.name, message: error.message }))
}

async function seenOfFiles({ files, commands }) {
  await files.makeDir('js/watched')
  const events = []
  const watch = await files.watchDir('js/watched', (event) => events.push(`${event.type} ${event.name}`))
  const written = await files.write('js/watched/a.txt', 'text é')
  const many = await files.write([{ path: 'js/b', data: 'b' }, { path: 'js/c', data: new Blob(['c']) }])
  while (!events.includes('write a.txt')) await commands.run('true')
  await watch.stop()
  const moved = await files.rename('js/b', 'js/d')
  const seen = {
    written: written.path, many: many.map((info) => info.path), text: await files.read('js/watched/a.txt'),
    bytes: (await files.read('js/c', { format: 'bytes' })).length, moved: moved.path, events: events.slice(0, 2),
    list: (await files.list('js', { depth: 2 })).map((entry) => entry.path), exists: await files.exists('js/b'),
    again: await files.makeDir('js'), info: (await files.getInfo('js/c')).size, absent: await failure(files.read('js/absent')),
  }
  await files.remove('js')
  return { ...seen, removed: !(await files.exists('js')) }
}

async function seenOfCommands({ commands, pty }) {
  const out = []
  const run = await commands.run('echo out; echo err >&2; echo $X', { envs: { X: 'x' }, onStdout: (text) => out.push(text) })
  const reader = await commands.run('cat', { background: true, stdin: true })
  await commands.sendStdin(reader.pid, 'typed\n')
  await commands.closeStdin(reader.pid)
  const sleeper = await commands.run('sleep 100', { background: true })
  const late = await commands.connect(sleeper.pid)
  let screen = ''
  const decoder = new TextDecoder()
  const terminal = await pty.create({ cols: 80, rows: 24, onData: (bytes) => { screen += decoder.decode(bytes, { stream: true }) } })
  await pty.resize(terminal.pid, { cols: 100, rows: 30 })
  await pty.sendInput(terminal.pid, new TextEncoder().encode('stty size; exit 0\n'))
  await terminal.wait()
  return {
    stdout: run.stdout, out: out.join(''), stderr: run.stderr, typed: (await reader.wait()).stdout, same: late.pid === sleeper.pid,
    listed: (await commands.list()).some((one) => one.pid === sleeper.pid), killed: [await commands.kill(sleeper.pid), await commands.kill(sleeper.pid)],
    status: await failure(commands.run('exit 3')), time: await failure(commands.run('sleep 2000', { timeoutMs: 1000 })),
    cwd: await failure(commands.run('pwd', { cwd: '/nowhere' })), size: screen.includes('30 100'),
  }
}

const sandbox = await Sandbox.create()
const seen = { files: await seenOfFiles(sandbox), commands: await seenOfCommands(sandbox) }
await sandbox.kill()
console.log(JSON.stringify(seen))
