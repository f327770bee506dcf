/** The goals of runs on other machines, as the page shows them. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatOtherRuns } from './goal-table.ts'
import type { Results } from './results.ts'

const folder = mkdtempSync(join(tmpdir(), 'goal-table-'))
afterAll(() => rmSync(folder, { recursive: true }))

function results(idleMiB: number): Results {
  return {
    at: '2026-01-02',
    machine: { cpu: 'a processor', cores: 16, pinned: true, randomReadNs: [100] },
    versions: {},
    seconds: 1,
    rounds: 3,
    minutes: 4,
    skipped: [{ name: 'nginx', why: 'not installed' }],
    samples: [],
    footprint: { firstAnswerMs: [], idleMiB: [idleMiB] },
  }
}

test('each machine has its goals, measured ones only, and the page’s own run is none of them', () => {
  writeFileSync(join(folder, 'results.json'), JSON.stringify(results(1)))
  writeFileSync(join(folder, 'server.json'), JSON.stringify(results(44)))
  writeFileSync(join(folder, 'laptop.json'), JSON.stringify(results(46)))
  writeFileSync(join(folder, 'chart.svg'), '<svg/>')
  const lines = formatOtherRuns(folder, 'results.json')
  expect(lines.filter((line) => line.startsWith('## '))).toEqual([
    '## The goals on another machine: laptop',
    '## The goals on another machine: server',
  ])
  expect(lines.filter((line) => line.startsWith('| ') && !line.includes('goal |'))).toEqual([
    '| memory of an idle proxy | ≤ 45 MiB | 46 MiB | **missed** |',
    '| memory of an idle proxy | ≤ 45 MiB | 44 MiB | reached in every round |',
  ])
  expect(lines.join('\n')).toContain('on 16 cores (a processor), 3 rounds, 4 minutes')
  expect(lines).toContain('nginx was skipped: not installed.')
})
