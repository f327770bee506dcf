import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatBadges } from './badges.ts'
import { formatFlags } from './flags-document.ts'
import { formatMetrics } from './metrics-document.ts'

const root = join(import.meta.dir, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

test('the lists of flags and metrics are up to date (npm run docs writes them)', () => {
  expect(read('docs/flags.md')).toBe(formatFlags())
  expect(read('docs/metrics.md')).toBe(formatMetrics())
})

test('the badges say what the changelog says, and are up to date', () => {
  expect(read('docs/badges.svg')).toBe(formatBadges(root))
  const [, newest] = /^## (\S+ \(.+\))$/m.exec(read('CHANGELOG.md')) ?? []
  const [version, state] = (newest ?? '').replace(')', '').split(' (')
  expect(read('docs/badges.svg')).toContain(`release: ${version}, ${state}`)
})

test('every metric that an alert or a dashboard uses is one that a program serves', () => {
  const served = formatMetrics()
  const folder = 'deploy/backend/files'
  const used = readdirSync(join(root, folder)).flatMap((name) =>
    [...read(join(folder, name)).matchAll(/\bprivatemode_(?:gateway|worker|proxy)_\w+/g)].map(
      ([metric]) => metric.replace(/_(?:bucket|sum|count)$/, ''),
    ),
  )
  expect(used.length).toBeGreaterThan(10)
  expect(used.filter((metric) => !served.includes(`\`${metric}\``))).toEqual([])
})
