// SPDX-License-Identifier: Apache-2.0
//
// Loaded before each of srt's test files (bun test --preload). The function that puts a command below bubblewrap puts it
// below $IPYBOX instead, a program that takes srt's words; everything else of srt stays what it is: its settings, its
// manager, and its tests.
import { mock } from 'bun:test'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const program = process.env.IPYBOX ?? 'srt'
const host = process.env.SRT_TEST_HOST ?? '' // "192.0.2.1:80": where example.com is here
const source = join(process.cwd(), 'src/sandbox')
const replaced = join(source, 'linux-sandbox-utils.ts')
const original = { ...(await import(replaced)) }
const folder = mkdtempSync(join(tmpdir(), 'srt-settings-'))
let count = 0

const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`

// A name that leads to an address of this machine is refused, unless the address is listed itself: for the web server
// that stands in for example.com it is.
function domains(network: any): string[] {
  const listed: string[] = network?.allowedDomains ?? []
  return host && listed.includes('example.com') ? [...listed, host] : listed
}

async function settingsOf(params: any) {
  const { SandboxManager } = await import(join(source, 'sandbox-manager.ts'))
  const network = SandboxManager.getConfig()?.network
  const proxies = params.httpSocketPath ? network : undefined // the manager gives none when no domain is allowed
  return {
    network: {
      allowedDomains: params.httpSocketPath ? domains(network) : [],
      deniedDomains: network?.deniedDomains ?? [],
      allowAllUnixSockets: params.allowAllUnixSockets ?? false,
      ...(proxies?.httpProxyPort && { httpProxyPort: proxies.httpProxyPort }),
      ...(proxies?.socksProxyPort && { socksProxyPort: proxies.socksProxyPort }),
    },
    filesystem: {
      denyRead: params.readConfig?.denyOnly ?? [],
      allowWrite: params.writeConfig?.allowOnly ?? ['/'],
      denyWrite: params.writeConfig?.denyWithinAllow ?? [],
      allowGitConfig: params.allowGitConfig ?? false,
    },
    ...(params.mandatoryDenySearchDepth && { mandatoryDenySearchDepth: params.mandatoryDenySearchDepth }),
  }
}

async function wrap(params: any): Promise<string> {
  const reads = params.readConfig?.denyOnly ?? []
  if (!params.needsNetworkRestriction && reads.length === 0 && !params.writeConfig) return params.command
  const file = join(folder, `${count++}.json`)
  writeFileSync(file, JSON.stringify(await settingsOf(params)))
  const shell = params.binShell ?? 'bash'
  const command = shell === 'bash' ? params.command : `${shell} -c ${quoted(params.command)}`
  return [program, '-s', file, '-c', command].map(quoted).join(' ')
}

// Nothing bridges two networks, as there is one; its two processes are stand-ins that the manager may end.
const idle = () => ({ pid: undefined, killed: true, kill: () => true, on() {}, once() {} })

mock.module(replaced, () => ({
  ...original,
  hasLinuxSandboxDependenciesSync: () => true,
  initializeLinuxNetworkBridge: async () => ({
    httpSocketPath: join(folder, 'http'),
    socksSocketPath: join(folder, 'socks'),
    httpBridgeProcess: idle(),
    socksBridgeProcess: idle(),
    httpProxyPort: 1,
    socksProxyPort: 1,
  }),
  wrapCommandWithSandboxLinux: wrap,
}))
