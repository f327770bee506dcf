import { expect, test } from 'bun:test'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unlessMissing } from '@privatemode/service/testing'
import { complete } from '../../test/chart/backend-values.ts'
import { minimal } from '../../test/chart/proxy-config-effects.ts'
import { chartFolder, renderObjects, withoutHelm } from '../../test/chart/render.ts'
import { initSources } from '../machine/trees.ts'
import { repository, run } from './locked-package.ts'
import { packChart } from './pack-chart.ts'
import { formatProvenance } from './provenance.ts'
import { gatherRelease, writeChecksums } from './release-files.ts'

const { exitCode } = Bun.spawnSync(['git', 'rev-parse', 'HEAD'], { cwd: repository })
const withoutGit = exitCode === 0 ? undefined : 'the checkout has no git history'
const facts = { version: '1.2.3', revision: 'abc-dirty', epochSeconds: 1_700_000_000 }

test('sha256sum accepts a release downloaded into one folder, and finds a changed file', () =>
  inDist(async (dist, release) => {
    writeFileSync(join(dist, 'bin', 'tool'), 'one')
    writeFileSync(join(dist, 'images', 'tool.sig'), 'two')
    await gatherRelease(dist)
    writeFileSync(join(release, 'provenance.intoto.json'), '{}')
    await writeChecksums(release)
    rmSync(join(dist, 'bin'), { recursive: true }) // only the release is downloaded
    const check = () => Bun.spawnSync(['sha256sum', '--check', 'SHA256SUMS'], { cwd: release })
    expect(check().exitCode).toBe(0)
    expect(check().stdout.toString()).toBe('provenance.intoto.json: OK\ntool: OK\ntool.sig: OK\n')
    writeFileSync(join(release, 'tool'), 'changed')
    expect(check().exitCode).not.toBe(0)
  }))

test('a chart and an npm package of one name keep apart in a release', () =>
  inDist(async (dist) => {
    writeFileSync(join(dist, 'npm', 'proxy-1.0.0.tgz'), 'npm')
    writeFileSync(join(dist, 'charts', 'proxy-1.0.0.tgz'), 'chart')
    const subjects = await gatherRelease(dist)
    expect(subjects.map(({ name }) => name)).toEqual([
      'chart-proxy-1.0.0.tgz',
      'npm-proxy-1.0.0.tgz',
    ])
  }))

test('two files of one name are no release', () =>
  inDist(async (dist) => {
    writeFileSync(join(dist, 'bin', 'proxy'), 'program')
    writeFileSync(join(dist, 'images', 'proxy'), 'image')
    await expect(gatherRelease(dist)).rejects.toThrow('bin and images both contain proxy')
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

test('only tracked files enter a chart and the sources of init, also through a link', () =>
  inFolder(async (checkout) => {
    for (const path of ['deploy', 'apps/machine/src']) {
      cpSync(join(repository, path), join(checkout, path), {
        recursive: true,
        verbatimSymlinks: true,
      })
    }
    run(['git', 'init', '--quiet'], { cwd: checkout })
    run(['git', 'add', '.'], { cwd: checkout })
    const list = () => {
      const packed = packChart('backend', checkout, 1, checkout)
      return run(['tar', '-tzf', packed]).trim().split('\n')
    }
    const [before, sources] = [list(), initSources(checkout)]
    expect(before).toContain('privatemode-backend/charts/privatemode-proxy/Chart.yaml')
    expect(sources).toContain('apps/machine/src/main.ts')
    for (const path of [
      'deploy/backend/templates/left-over.yaml',
      'deploy/chart/templates/left-over.yaml',
      'apps/machine/src/left-over.ts',
    ]) {
      writeFileSync(join(checkout, path), '')
    }
    expect(list()).toEqual(before)
    expect(initSources(checkout)).toEqual(sources)
  }))

unlessMissing(withoutGit).test('a chart packed twice has the same bytes', () =>
  inFolder(async (folder) => {
    const read = () => readFileSync(packChart('backend', folder, 1))
    expect(read().equals(read())).toBe(true)
  }),
)

unlessMissing(withoutHelm ?? withoutGit).test(
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

function inDist(use: (dist: string, release: string) => Promise<void>): Promise<void> {
  return inFolder(async (dist) => {
    for (const name of ['bin', 'images', 'npm', 'charts']) mkdirSync(join(dist, name))
    await use(dist, join(dist, 'release'))
  })
}

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-release-'))
  try {
    await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
