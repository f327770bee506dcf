import { expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unlessMissing } from '@privatemode/service/testing'
import { complete } from '../../test/chart/backend-values.ts'
import { minimal } from '../../test/chart/proxy-config-effects.ts'
import { chartFolder, renderObjects, withoutHelm } from '../../test/chart/render.ts'
import { packChart } from './pack-chart.ts'
import { formatChecksums, formatProvenance, hashFiles } from './provenance.ts'

const facts = { version: '1.2.3', revision: 'abc-dirty', epochSeconds: 1_700_000_000 }

test('sha256sum accepts the checksums, and a changed file is found', () =>
  inFolder(async (folder) => {
    mkdirSync(join(folder, 'bin'))
    writeFileSync(join(folder, 'bin', 'tool'), 'one')
    writeFileSync(join(folder, 'a.txt'), 'two')
    const subjects = await hashFiles(folder)
    expect(subjects.map((subject) => subject.name)).toEqual(['a.txt', 'bin/tool'])
    writeFileSync(join(folder, 'SHA256SUMS'), formatChecksums(subjects))
    const check = () => Bun.spawnSync(['sha256sum', '--check', 'SHA256SUMS'], { cwd: folder })
    expect(check().exitCode).toBe(0)
    writeFileSync(join(folder, 'a.txt'), 'changed')
    expect(check().exitCode).not.toBe(0)
  }))

test('the provenance names every file, the commit, the lock file and the tools', () => {
  const text = formatProvenance([{ name: 'a', sha256: 'ff' }], facts, { bun: '1.4.4' })
  expect(JSON.parse(text)).toMatchObject({
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: 'a', digest: { sha256: 'ff' } }],
    predicate: {
      buildDefinition: {
        externalParameters: { revision: 'abc-dirty', version: '1.2.3' },
        resolvedDependencies: [
          { name: 'source', digest: { gitCommit: 'abc' } },
          { name: 'package-lock.json' },
          { name: 'deploy/images/debian-packages.json' },
        ],
      },
      runDetails: { builder: { version: { bun: '1.4.4' } } },
    },
  })
  expect(formatProvenance([{ name: 'a', sha256: 'ff' }], facts, { bun: '1.4.4' })).toBe(text)
})

test('a chart packed twice has the same bytes', () =>
  inFolder(async (folder) => {
    const read = () => readFileSync(packChart('backend', folder, 1))
    expect(read().equals(read())).toBe(true)
  }))

unlessMissing(withoutHelm).test(
  'helm renders packed charts, including subcharts, like the folders',
  () =>
    inFolder(async (folder) => {
      for (const [which, values] of [
        ['chart', minimal],
        ['backend', complete],
      ] as const) {
        const packed = packChart(which, folder, 1)
        expect(renderObjects(packed, values)).toEqual(renderObjects(chartFolder(which), values))
      }
    }),
)

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-release-'))
  try {
    await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
