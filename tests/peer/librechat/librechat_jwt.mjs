// SPDX-License-Identifier: Apache-2.0
// LibreChat's own tool with tokens of users, made as LibreChat makes them.
//   keys FOLDER   makes its two keys, and the file of their public halves, FOLDER/public.pem
//   run FOLDER    what the tool sees of the server at PEER_LIBRECHAT_URL, as JSON on standard output
import { createHash, createPrivateKey, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createCodeExecutionTool } from '@librechat/agents'

const [, , command, folder] = process.argv
const kinds = { EdDSA: ['ed25519'], RS256: ['rsa', { modulusLength: 2048 }] }

function makeKeys() {
  const spki = { type: 'spki', format: 'pem' }
  const pkcs8 = { type: 'pkcs8', format: 'pem' }
  let all = ''
  for (const [alg, [type, options]] of Object.entries(kinds)) {
    const pair = generateKeyPairSync(type, options)
    writeFileSync(`${folder}/${alg}.pem`, pair.privateKey.export(pkcs8))
    all += pair.publicKey.export(spki)
  }
  writeFileSync(`${folder}/public.pem`, all)
}

function mint(alg, user, more = {}) {
  const now = Math.floor(Date.now() / 1000)
  const context = { chc_user_id: '', org_id: '', principal_source: 'librechat_jwt', role: 'USER', service_id: '', sub: user, tenant_id: 'legacy' }
  const claims = {
    iss: 'librechat', aud: 'codeapi', sub: user, iat: now, nbf: now, exp: now + 300, jti: randomUUID(), tenant_id: 'legacy', role: 'USER',
    principal_source: 'librechat_jwt', auth_context_hash: createHash('sha256').update(JSON.stringify(context)).digest('hex'), ...more,
  }
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part({ alg, typ: 'JWT', kid: 'lc-codeapi-2026-05' })}.${part(claims)}`
  const key = createPrivateKey(readFileSync(`${folder}/${alg}.pem`))
  return `${text}.${sign(alg === 'RS256' ? 'RSA-SHA256' : null, Buffer.from(text), key).toString('base64url')}`
}

// authHeaders is called for each request, as LibreChat's own is.
async function run(alg, user, code, { files, ...claims } = {}) {
  const authHeaders = async () => ({ Authorization: `Bearer ${mint(alg, user, claims)}` })
  const tool = createCodeExecutionTool({ baseUrl: process.env.PEER_LIBRECHAT_URL, authHeaders })
  const _injected_files = files?.map((file) => ({ ...file, kind: 'user', resource_id: user }))
  return tool.invoke({ name: tool.name, args: { lang: 'bash', code }, id: 'call_1', type: 'tool_call', _injected_files })
    .then((message) => ({ text: message.content, files: message.artifact.files }), (error) => ({ error: error.message }))
}

async function see() {
  const seen = {}
  for (const alg of Object.keys(kinds)) {
    const made = await run(alg, 'one', 'echo of one > mine.txt')
    const { files } = made
    seen[alg] = {
      made,
      own: await run(alg, 'one', 'cat /mnt/data/mine.txt', { files }),
      others: await run(alg, 'two', 'cat /mnt/data/mine.txt', { files }),
      expired: await run(alg, 'one', 'true', { exp: Math.floor(Date.now() / 1000) - 60 }),
      audience: await run(alg, 'one', 'true', { aud: 'other' }),
    }
  }
  console.log(JSON.stringify(seen))
}

await (command === 'keys' ? makeKeys() : see())
