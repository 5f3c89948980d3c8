// SPDX-License-Identifier: Apache-2.0
//
// In the place of srt's src/cli.ts, which its tests start: the same words to $IPYBOX.
import { spawnSync } from 'node:child_process'

const result = spawnSync(process.env.IPYBOX ?? 'srt', process.argv.slice(2), { stdio: 'inherit' })
process.exit(result.status ?? 1)
