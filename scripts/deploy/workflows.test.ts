import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import packageFile from '../../package.json'
import { repository } from './locked-package.ts'

type Step = {
  readonly name?: string
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
}
type Workflow = { readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[] }>> }

const folder = join(repository, '.github', 'workflows')
const read = (name: string) => readFileSync(join(folder, name), 'utf8')
const release = (Bun.YAML.parse(read('release.yml')) as Workflow).jobs.release?.steps ?? []

test.each(readdirSync(folder))('%s pins every action to a commit and names its version', (name) => {
  const lines = read(name)
    .split('\n')
    .filter((line) => /\buses:/.test(line))
  expect(lines).not.toEqual([])
  for (const line of lines)
    expect(line).toMatch(/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
})

test('a release uploads and attests everything that was gathered for it', () => {
  const upload = release.find(({ run }) => run?.startsWith('gh release create'))
  expect(upload?.run).toEndWith(' dist/release/*')
  const attest = release.find(({ uses }) => uses?.startsWith('actions/attest-build-provenance'))
  expect(attest?.with).toEqual({ 'subject-path': 'dist/release/*' })
})

test('a tag that is not the version of package.json stops the release before anything is built', () => {
  const position = release.findIndex(({ name }) => name === 'the tag is the version')
  expect(position).toBeLessThan(release.findIndex(({ run }) => run?.startsWith('npm')))
  const check = (tag: string) =>
    Bun.spawnSync(['sh', '-e', '-c', release[position]?.run ?? ''], {
      cwd: repository,
      env: { ...process.env, GITHUB_REF_NAME: tag },
    })
  expect(check(`v${packageFile.version}`).exitCode).toBe(0)
  const wrong = check('v99.0.0')
  expect(wrong.exitCode).toBe(1)
  expect(wrong.stderr.toString()).toBe(
    `the tag v99.0.0 is not v${packageFile.version}, the version of package.json\n`,
  )
})

test('charts have the version of what they install', () => {
  for (const which of ['chart', 'backend']) {
    const chart = Bun.YAML.parse(
      readFileSync(join(repository, 'deploy', which, 'Chart.yaml'), 'utf8'),
    )
    const { version } = packageFile
    expect(chart).toMatchObject({ version, appVersion: version })
  }
})
