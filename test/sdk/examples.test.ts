import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { unlessMissing } from '@privatemode/service/testing'
import type { Browser, Page } from 'playwright-core'
import { launchChromium } from '../browser/chromium.ts'
import { askRoute, bundleRoute, bundleWorker } from './edge-example.ts'
import { type InstalledPackage, installPackage, run } from './packed-package.ts'
import { findInstalled } from './runtimes.ts'
import { type SuiteStack, startSuiteStack } from './stack-config.ts'
import { buildReactExample, copyExample, scriptsIn, serveFolder } from './vite-example.ts'
import { startWorkerd } from './workerd.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const examples = join(root, 'examples')
const browser: Browser | undefined = await launchChromium()
const vite = await findInstalled('vite/bin/vite.js')
const deno = await findInstalled('@deno/linux-x64-glibc/deno')
const edgeVm = await findInstalled('@edge-runtime/vm/dist/index.js')
const workerd = await findInstalled('@cloudflare/workerd-linux-64/bin/workerd')
const noBrowser = browser === undefined ? 'no Chromium starts here' : undefined
const noVite = vite === undefined ? 'Vite is not installed' : undefined
const noEdge = edgeVm === undefined ? 'the edge runtime is not installed' : undefined
let installed: InstalledPackage
let suite: SuiteStack

beforeAll(async () => {
  installed = await installPackage()
  mkdirSync(join(installed.project, 'node_modules/@anthropic-ai'))
  for (const name of ['openai', '@anthropic-ai/sdk']) {
    symlinkSync(join(root, 'node_modules', name), join(installed.project, 'node_modules', name))
  }
  suite = await startSuiteStack()
}, 180_000)

afterAll(async () => {
  await browser?.close()
  await suite?.stop()
  installed?.remove()
}, 120_000)

/** Copies an example to where the package is installed. */
function place(name: string): string {
  const folder = join(installed.project, name)
  copyExample(join(examples, name), folder)
  return folder
}

const runExample = (path: string, args: string[] = [], env: Record<string, string> = {}) => {
  place(path.split('/')[0] ?? path)
  const home = { PRIVATEMODE_HOME: suite.stack.home }
  return run(['node', path, ...args], installed.project, { ...home, ...env })
}

/** Starts a program that says its URL in a line of its own, and stops it after the work. */
async function withServer(args: string[], env: Record<string, string>, work: Work): Promise<void> {
  const server = Bun.spawn(['node', ...args], {
    cwd: installed.project,
    env: { ...process.env, PORT: '0', PRIVATEMODE_HOME: suite.stack.home, ...env },
    stdout: 'pipe',
    stderr: 'inherit',
    timeout: 120_000,
  })
  try {
    let said = ''
    for await (const bytes of server.stdout) {
      said += new TextDecoder().decode(bytes)
      const url = /^http:.*$/m.exec(said)?.[0]
      if (url === undefined) continue
      await work(url)
      break
    }
  } finally {
    server.kill()
    await server.exited
  }
}
type Work = (url: string) => Promise<void>

async function onPage(url: string, work: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser!.newContext()
  try {
    const page = await context.newPage()
    await page.goto(url)
    await work(page)
  } finally {
    await context.close()
  }
}

/** Asks as a visitor does, and waits for what the page says at the end. */
async function chatOn(page: Page, ready: RegExp, message: string, end: RegExp): Promise<void> {
  await page.getByText(ready).waitFor({ timeout: 60_000 })
  await page.getByLabel('Message').fill(message)
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText(end).waitFor({ timeout: 60_000 })
}

test('the quick start works in an empty project with the packed package', async () => {
  const { code, output } = await runExample('quickstart.mjs')
  expect(output).toContain('You said: Write one sentence about the sea.')
  expect(output).toMatch(/worker w_\w+ signed: \d+ tokens of scripted/)
  expect(code).toBe(0)
}, 120_000)

test('the Node example answers, remembers the log and leaves a bundle', async () => {
  const state = join(installed.project, 'state')
  const first = await runExample('node/main.mjs', [], { PRIVATEMODE_STATE: state })
  expect(first.output).toContain('You said: Name three rivers.')
  const bundle = JSON.parse(readFileSync(join(state, 'bundle.json'), 'utf8'))
  expect(bundle).toMatchObject({ version: 1 })
  expect(bundle.log_proof).toBeString()
  expect((await runExample('node/main.mjs', [], { PRIVATEMODE_STATE: state })).code).toBe(0)
}, 120_000)

test('the official clients answer on Bun, with settings from PRIVATEMODE_HOME alone', async () => {
  place('bun')
  const home = { PRIVATEMODE_HOME: suite.stack.home }
  const { output } = await run([process.execPath, 'bun/main.ts'], installed.project, home)
  expect(output).toBe('You said: Name three rivers.\n')
}, 120_000)

unlessMissing(deno === undefined ? 'Deno is not installed' : undefined).test(
  'the official clients answer on Deno, with a receipt',
  async () => {
    place('deno')
    const home = { PRIVATEMODE_HOME: suite.stack.home }
    const args = ['run', '-A', '--no-remote', '--cached-only', '--no-prompt', 'deno/main.ts']
    const { output } = await run([deno!, ...args], installed.project, home)
    expect(output).toContain('You said: Name three rivers.')
    expect(output).toMatch(/worker w_\w+ signed: \d+ tokens/)
  },
  120_000,
)

test('the Node service streams answers, and says errors by their code', async () => {
  place('node')
  await withServer(['node/service.mjs'], { PRIVATEMODE_STATE: 'service-state' }, async (url) => {
    const ask = (body: string) => fetch(url, { method: 'POST', body })
    expect(await (await ask('hello service')).text()).toBe('You said: hello service')
    const refused = await ask('x'.repeat(100_001))
    expect(refused.status).toBe(413)
    expect(await refused.json()).toEqual({ code: 'request_too_large' })
  })
}, 120_000)

test('the agent uses its tools on the folder it was given, and on no other', async () => {
  const folder = join(installed.project, 'work')
  mkdirSync(folder)
  writeFileSync(join(folder, 'notes.txt'), 'the harbour at dawn')
  const ask = (path: string) =>
    runExample('agent/main.mjs', [folder, `[[tool read_file {"path":"${path}"}]] read it`])
  expect((await ask('notes.txt')).output).toContain('The tool said: the harbour at dawn')
  expect((await ask('../package.json')).output).toContain('failed: outside the folder')
}, 120_000)

unlessMissing(noBrowser).test(
  'the page without a bundler chats',
  async () => {
    const serve = [join(examples, 'browser', 'serve.mjs')]
    await withServer(serve, { PRIVATEMODE_SDK: installed.dist }, (url) =>
      onPage(url, async (page) => {
        await chatOn(page, /^Verified w_/, 'hello page', /^Signed by w_/)
        expect(await page.locator('#answer').textContent()).toBe('You said: hello page')
      }),
    )
  },
  240_000,
)

unlessMissing(noBrowser).test(
  'a service worker seals what its page asks in plain words',
  async () => {
    const serve = [join(examples, 'browser', 'serve.mjs'), join(examples, 'service-worker')]
    await withServer(serve, { PRIVATEMODE_SDK: installed.dist }, (url) =>
      onPage(url, async (page) => {
        await chatOn(page, /^Ready: scripted/, 'hello worker', /^Answered$/)
        expect(await page.locator('#answer').textContent()).toBe('You said: hello worker')
      }),
    )
  },
  240_000,
)

unlessMissing(noBrowser ?? noVite).test(
  'the React example is built with Vite and chats',
  async () => {
    const server = serveFolder(await buildReactExample(installed, vite!, suite.config))
    try {
      await onPage(`http://127.0.0.1:${server.port}/`, async (page) => {
        await chatOn(page, /^Verified$/, 'hello React', /^Signed by w_/)
        const last = page.getByRole('listitem').last()
        expect(await last.textContent()).toBe('assistant You said: hello React')
      })
    } finally {
      await server.stop(true)
    }
  },
  120_000,
)

unlessMissing(noVite).test(
  'the React example for production has no software verifier in any file',
  async () => {
    const scripts = scriptsIn(await buildReactExample(installed, vite!))
    expect(scripts).toContain('Verifying')
    expect(scripts).toContain('snp/report-signature')
    expect(scripts).not.toContain('software/report-signature')
  },
  120_000,
)

test('the route for the edge has no import of Node in its bundle', async () => {
  const script = await bundleRoute(installed)
  expect(script).toContain('globalThis.POST')
  expect(script.match(/\brequire\(["'].*|["']node:.*/g) ?? []).toEqual([])
}, 240_000)

unlessMissing(noEdge).test(
  'the route streams in the runtime of the edge',
  async () => {
    const { endpoint, apiKey, logKey, softwareRoot, model } = suite.config
    const env = {
      PRIVATEMODE_API_KEY: apiKey,
      PRIVATEMODE_ENDPOINT: endpoint,
      PRIVATEMODE_LOG_KEY: logKey,
      PRIVATEMODE_SOFTWARE_ROOT: softwareRoot,
    }
    const messages = [{ role: 'user', content: '[[pace 30]] [[words 20]]' }]
    const script = await bundleRoute(installed)
    const body = { model, stream: true, messages }
    const answer = await askRoute(installed, edgeVm!, script, env, body)
    expect(answer.text).toContain('word19')
    expect(answer.text.trimEnd()).toEndWith('data: [DONE]')
    expect(answer.status).toBe(200)
    expect(answer.pieces).toBeGreaterThan(3)
    const { PRIVATEMODE_SOFTWARE_ROOT, ...production } = env
    const refused = await askRoute(installed, edgeVm!, script, production, body)
    expect(refused).toMatchObject({ status: 502, text: '{"error":{"code":"attestation_refused"}}' })
  },
  120_000,
)

unlessMissing(workerd === undefined ? 'workerd is not installed' : undefined).test(
  'the worker answers in workerd, several requests with one client, and trusts no software by itself',
  async () => {
    const { endpoint, apiKey, logKey, softwareRoot, model } = suite.config
    const env = {
      PRIVATEMODE_API_KEY: apiKey,
      PRIVATEMODE_ENDPOINT: endpoint,
      PRIVATEMODE_LOG_KEY: logKey,
      PRIVATEMODE_MODEL: model,
    }
    const script = await bundleWorker(installed)
    const asked = suite.server.requests.length
    const trial = { ...env, PRIVATEMODE_SOFTWARE_ROOT: softwareRoot }
    await withWorker(script, trial, async (ask) => {
      const texts = await Promise.all([ask('[[words 20]]'), ask('hello edge')])
      expect(texts[0]).toContain('word19')
      expect(texts[1]).toContain('hello')
      expect(await ask('hello again')).toContain('again')
      expect(suite.server.requests.length).toBe(asked + 3)
    })
    await withWorker(script, env, async (ask) => {
      expect(await ask('hello')).toBe('{"error":{"code":"attestation_refused"}}')
    })
  },
  120_000,
)

type Ask = (question: string) => Promise<string>

async function withWorker(
  script: string,
  env: Readonly<Record<string, string>>,
  work: (ask: Ask) => Promise<void>,
): Promise<void> {
  const worker = await startWorkerd(workerd ?? '', script, env)
  try {
    await work(async (body) => (await fetch(worker.url, { method: 'POST', body })).text())
  } finally {
    await worker.stop()
  }
}
