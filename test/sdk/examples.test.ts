import { afterAll, beforeAll, expect, test } from 'bun:test'
import { copyFileSync, existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { type InstalledPackage, installPackage, run } from './packed-package.ts'
import { type SuiteStack, startSuiteStack } from './stack-config.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const chromiumPath = '/usr/bin/chromium'
const hasChromium = existsSync(chromiumPath)
let installed: InstalledPackage
let suite: SuiteStack

beforeAll(async () => {
  installed = await installPackage()
  symlinkSync(join(root, 'node_modules', 'openai'), join(installed.project, 'node_modules/openai'))
  suite = await startSuiteStack()
}, 180_000)

afterAll(async () => {
  await suite?.stop()
  installed?.remove()
}, 60_000)

const runExample = async (path: string, env: Record<string, string> = {}) => {
  const { project } = installed
  copyFileSync(join(root, 'examples', path), join(project, 'example.mjs'))
  return run(['node', 'example.mjs'], project, { PRIVATEMODE_HOME: suite.stack.home, ...env })
}

test('the quick start works in an empty project with the packed package', async () => {
  const { code, output } = await runExample('quickstart.mjs')
  expect(output).toContain('You said: Write one sentence about the sea.')
  expect(output).toMatch(/worker w_\w+ signed: \d+ tokens of scripted/)
  expect(code).toBe(0)
}, 60_000)

test('the quick start in the documentation is the tested file', () => {
  const documented = readFileSync(join(root, 'docs', 'sdk.md'), 'utf8')
  expect(documented).toContain(readFileSync(join(root, 'examples', 'quickstart.mjs'), 'utf8'))
})

test('the documentation lists every code of an error', () => {
  const documented = readFileSync(join(root, 'docs', 'sdk.md'), 'utf8')
  const source = readFileSync(join(root, 'packages', 'protocol', 'src', 'api', 'errors.ts'), 'utf8')
  const table = /const traits = \{(.*?)\n\}/s.exec(source)?.[1] ?? ''
  const codes = [...table.matchAll(/^ {2}(\w+):/gm)].map(([, code]) => code ?? '')
  expect(codes.length).toBeGreaterThan(20)
  expect(codes.filter((code) => !documented.includes(`\`${code}\``))).toEqual([])
})

test('the Node example answers, remembers the log and leaves a bundle', async () => {
  const state = join(installed.project, 'state')
  const first = await runExample('node/main.mjs', { PRIVATEMODE_STATE: state })
  expect(first.output).toContain('You said: Name three rivers.')
  const bundle = JSON.parse(readFileSync(join(state, 'bundle.json'), 'utf8'))
  expect(bundle).toMatchObject({ version: 1 })
  expect(bundle.log_proof).toBeString()
  expect((await runExample('node/main.mjs', { PRIVATEMODE_STATE: state })).code).toBe(0)
}, 60_000)

test.skipIf(!hasChromium)(
  `the page without a bundler chats${hasChromium ? '' : ' (skipped: Chromium is not there)'}`,
  async () => {
    const server = Bun.spawn(['node', join(root, 'examples', 'browser', 'serve.mjs')], {
      env: {
        ...process.env,
        PORT: '0',
        PRIVATEMODE_HOME: suite.stack.home,
        PRIVATEMODE_SDK: installed.dist,
      },
      stdout: 'pipe',
    })
    const args = ['--no-sandbox', '--disable-background-networking']
    const browser = await chromium.launch({ executablePath: chromiumPath, args })
    try {
      const { value } = await server.stdout.getReader().read()
      const page = await browser.newPage()
      await page.goto(new TextDecoder().decode(value).trim())
      await page.getByText(/^Verified w_/).waitFor({ timeout: 30_000 })
      await page.getByLabel('Message').fill('hello page')
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByText(/^Signed by w_/).waitFor({ timeout: 30_000 })
      expect(await page.locator('#answer').textContent()).toBe('You said: hello page')
    } finally {
      await browser.close()
      server.kill()
      await server.exited
    }
  },
  90_000,
)

test('the React example compiles against the package, without software in its main file', async () => {
  const source = join(root, 'examples', 'react', 'src', 'main.jsx')
  const built = await Bun.build({
    entrypoints: [source],
    target: 'browser',
    splitting: true,
    external: ['react', 'react-dom', 'react/jsx-runtime', 'react/jsx-dev-runtime'],
    plugins: [
      {
        name: 'installed package',
        setup(build) {
          build.onResolve({ filter: /^@privatemode\/sdk/ }, ({ path }) => ({
            path: Bun.resolveSync(path, installed.project),
          }))
        },
      },
    ],
  })
  const entry = built.outputs.find(({ kind }) => kind === 'entry-point')
  expect(await entry?.text()).toContain('Verifying')
  expect(await entry?.text()).not.toContain('software/report-signature')
}, 30_000)
