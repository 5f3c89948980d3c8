// SPDX-License-Identifier: Apache-2.0
// LibreChat's own tools for its code API: what they see of a server, as JSON on standard output.
import { createCodeExecutionTool } from '@librechat/agents'

const baseUrl = process.env.PEER_LIBRECHAT_URL
const authHeaders = { 'X-API-Key': process.env.PEER_LIBRECHAT_KEY }

async function run(tool, args, toolCall = {}) {
  return tool.invoke({ name: tool.name, args, id: 'call_1', type: 'tool_call', ...toolCall })
    .then((message) => ({ text: message.content, artifact: message.artifact }), (error) => ({ error: error.message }))
}

async function seenOfCode() {
  const tool = createCodeExecutionTool({ baseUrl, authHeaders })
  const made = await run(tool, { lang: 'py', code: 'import sys\nprint(sys.argv[1:])\nopen("/mnt/data/a.csv", "w").write("x,1")', args: ['an arg'] })
  const read = await run(tool, { lang: 'bash', code: 'cat /mnt/data/b.csv; echo >&2 aside' },
    { _injected_files: made.artifact.files.map((file) => ({ ...file, name: 'b.csv', kind: 'user', resource_id: 'u1' })) })
  return {
    made, read,
    error: await run(tool, { lang: 'py', code: '1/0' }),
    language: await run(tool, { lang: 'rs', code: 'fn main() {}' }),
    key: await run(createCodeExecutionTool({ baseUrl, authHeaders: { 'X-API-Key': 'wrong' } }), { lang: 'py', code: '1' }),
    profile: await run(createCodeExecutionTool({ baseUrl, authHeaders, executionProfile: 'other' }), { lang: 'py', code: '1' }),
  }
}

async function seenOfState() {
  const options = { baseUrl, authHeaders, executionProfile: 'stateful', statefulSessions: true, runtimeSessionHint: 'talk-1' }
  const tool = createCodeExecutionTool(options)
  const first = await run(tool, { lang: 'py', code: 'x = 1\nopen("kept.txt", "w").write("kept")' })
  const second = await run(tool, { lang: 'py', code: 'print(open("/mnt/data/kept.txt").read(), "x" in globals())' })
  return { first: first.artifact, second }
}

console.log(JSON.stringify({ code: await seenOfCode(), state: await seenOfState() }))
