/** Every way of ending `npm start` leaves nothing running, tried in a real terminal. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freePorts } from '@privatemode/service/testing'
import {
  type ScriptedServer,
  startScriptedServer,
} from '../../packages/inference/src/testing/scripted-server.ts'
import { listProcesses } from '../process-table.ts'

const repository = resolve(import.meta.dir, '../..')
const limitMs = 200_000
let server: ScriptedServer
/** Until a test has one: no process has this among its arguments. */
let home = '/nowhere/privatemode-stop'

beforeAll(() => {
  server = startScriptedServer({ kind: 'vllm', cache: 'salted' })
})
afterAll(() => server.stop())
afterEach(() => {
  for (const { pid } of running()) process.kill(pid, 'SIGKILL')
  rmSync(home, { recursive: true, force: true })
})

/** Every process of the stack has its home among its arguments. */
const running = () =>
  listProcesses().filter(({ args, state }) => args.includes(home) && state !== 'Z')
const named = (text: string) => {
  const found = running().find(({ args }) => args.includes(text))
  if (found === undefined) throw new Error(`no process has ${text}`)
  return found.pid
}

function npmStart(ports = freePorts(3)) {
  let output = ''
  const [proxy, proxyless, gateway] = ports
  const child = Bun.spawn(
    [
      ...['npm', 'start', '--silent', '--', '--home', home, '--engineUrl', server.url],
      ...['--port', `${proxy}`, '--proxylessPort', `${proxyless}`, '--gatewayPort', `${gateway}`],
    ],
    {
      cwd: repository,
      terminal: {
        cols: 200,
        data(_terminal, bytes) {
          output += Buffer.from(bytes).toString()
        },
      },
    },
  )
  // What it printed last may arrive after its end.
  let endedAt = Number.POSITIVE_INFINITY
  void child.exited.then(() => {
    endedAt = Date.now()
  })
  return {
    child,
    output: () => output,
    url: `http://127.0.0.1:${proxy}`,
    press: (key: string) => void child.terminal?.write(key),
    says: (text: string) =>
      until(
        () => {
          if (output.includes(text)) return true
          if (Date.now() > endedAt + 10_000) throw new Error(`it ended: ${output}`)
          return false
        },
        () => output,
      ),
  }
}

async function until(holds: () => boolean, seen: () => string): Promise<void> {
  const deadline = Date.now() + limitMs
  while (!holds()) {
    if (Date.now() > deadline) throw new Error(`not within ${limitMs} ms; seen: ${seen()}`)
    await Bun.sleep(50)
  }
}

async function readyStack() {
  home = mkdtempSync(join(tmpdir(), 'privatemode-stop-'))
  const stack = npmStart()
  await stack.says('is ready')
  return stack
}

const nothingRuns = () =>
  until(
    () => running().length === 0,
    () =>
      running()
        .map(({ args }) => args)
        .join('\n'),
  )

/** A chat whose answer takes a few seconds; resolves with its text, or rejects if it is cut. */
async function slowChat(url: string): Promise<() => Promise<string>> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'scripted',
      stream: true,
      messages: [{ role: 'user', content: '[[pace 100]] [[words 40]]' }],
    }),
  })
  expect(response.status).toBe(200)
  const text = response.text()
  text.catch(() => {}) // looked at later
  return () => text
}

test('Ctrl-C lets a running stream finish, stops every process, and reports it', async () => {
  const stack = await readyStack()
  const answer = await slowChat(stack.url)
  stack.press('\x03')
  expect(await answer()).toContain('word39')
  await stack.says('Stopped. Nothing is left running.')
  await stack.child.exited
  await nothingRuns()
}, 420_000)

test('Ctrl-C pressed twice cuts a running stream and still leaves nothing', async () => {
  const stack = await readyStack()
  await slowChat(stack.url)
  stack.press('\x03')
  await stack.says('press Ctrl-C again')
  await Bun.sleep(1_200) // the window that counts as one request to stop has passed
  stack.press('\x03')
  await stack.says('Nothing is left running.')
  await stack.child.exited
  await nothingRuns()
}, 420_000)

test('a second start with the same home touches nothing; SIGTERM to the group stops the first', async () => {
  const stack = await readyStack()
  const before = running().map(({ pid }) => pid)
  const second = npmStart()
  await second.says(`already running at ${stack.url}/v1`)
  expect(await second.child.exited).toBe(1)
  expect(running().map(({ pid }) => pid)).toEqual(before)
  process.kill(-stack.child.pid, 'SIGTERM')
  await stack.says('Stopped. Nothing is left running.')
  await nothingRuns()
}, 420_000)

test('closing the terminal stops the stack', async () => {
  const stack = await readyStack()
  stack.child.terminal?.close()
  await nothingRuns()
}, 420_000)

test.each(['npm', 'scripts/start.mjs', 'apps/stack/src/main.ts'])(
  'kill -9 of %s stops the rest, and the next start with that home works',
  async (killed) => {
    const stack = await readyStack()
    process.kill(killed === 'npm' ? stack.child.pid : named(killed), 'SIGKILL')
    await nothingRuns()
    const next = npmStart()
    await next.says('is ready')
    next.press('\x03')
    await next.says('Stopped. Nothing is left running.')
    await nothingRuns()
  },
  600_000,
)
