// SPDX-License-Identifier: Apache-2.0
// LibreChat's own tools for its code API: what they see of a server, as JSON on standard output.
import { createCodeExecutionTool, createProgrammaticToolCallingTool } from '@librechat/agents'
import { tool as makeTool } from '@langchain/core/tools'

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

function countingTools() {
  const seen = []
  const number = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
  const tools = [
    makeTool(async ({ n }) => { seen.push(n); return { next: n + 1 } }, { name: 'count-up', description: 'adds one', schema: number }),
    makeTool(async () => { throw new Error('broken on purpose') }, { name: 'fail', description: 'fails', schema: number }),
  ]
  const definitions = tools.map((one) => ({ name: one.name, description: one.description, parameters: number, allowed_callers: ['code_execution'] }))
  return { seen, toolCall: { toolMap: new Map(tools.map((one) => [one.name, one])), toolDefs: definitions } }
}

async function seenOfTools() {
  const tool = createProgrammaticToolCallingTool({ baseUrl, authHeaders, maxRoundTrips: 1000 })
  const { seen, toolCall } = countingTools()
  const begun = performance.now()
  const many = await run(tool, { code: 'print("once")\nn = 0\nwhile n < 1000:\n    n = (await count_up(n=n))["next"]\nprint(n)' }, toolCall)
  const ms = performance.now() - begun
  const ordered = seen.every((n, i) => n === i) && seen.length === 1000
  const together = await run(tool, { code: 'import asyncio\nprint(await asyncio.gather(*(count_up(n=i) for i in range(5))))' }, toolCall)
  const caught = await run(tool, { code: 'try:\n    await fail(n=1)\nexcept Exception as e:\n    print("caught", e)' }, toolCall)
  const raised = await run(tool, { code: 'await fail(n=1)' }, toolCall)
  const none = await run(tool, { code: 'import asyncio\nawait asyncio.sleep(0)\nprint("plain")', tool_manifest: [] }, toolCall)
  const slow = await run(tool, { code: 'while True: pass', timeout: 1000 }, toolCall)
  return { many, ms, ordered, together, caught, raised, none, slow }
}

console.log(JSON.stringify({ code: await seenOfCode(), state: await seenOfState(), tools: await seenOfTools() }))
