/**
 * `npm run task -- docs:recording [FILE]`: a newcomer's terminal, recorded: clone, start, chat, stop, start again, stop.
 *
 * Types into real terminals and writes what they showed, with its timing, as an asciicast (version 2); `asciinema
 * play FILE` plays it. The clone is of this checkout's last commit. Fails if a command does not print what it should,
 * or a process is left at the end.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { freePorts } from '@privatemode/service/testing'
import { listProcesses } from '../test/process-table.ts'

const root = resolve(import.meta.dir, '..')
const file = resolve(process.argv[2] ?? join(root, 'docs/recordings/first-hour.cast'))
const size = { cols: 118, rows: 36 }
const limitMs = 15 * 60_000
/** Longer silences are shortened when played; the events keep their real times. */
const idleLimit = 2

type Terminal = { type(line: string): Promise<void>; press(key: string): void; close(): void }

const home = mkdtempSync(join(tmpdir(), 'privatemode-recording-'))
const started = performance.now()
const events: [number, 'o' | 'm', string][] = []
/** What was shown since the last command was typed. */
let shown = ''

const note = (kind: 'o' | 'm', text: string) =>
  events.push([Math.round(performance.now() - started) / 1000, kind, text])

try {
  await record()
} finally {
  rmSync(home, { recursive: true, force: true })
}
mkdirSync(dirname(file), { recursive: true })
const header = {
  ...{ version: 2, width: size.cols, height: size.rows, idle_time_limit: idleLimit },
  timestamp: Math.round(Date.now() / 1000),
  title: 'Privatemode: clone, start, chat, stop, start again',
}
const lines = [header, ...events].map((line) => JSON.stringify(line))
writeFileSync(file, `${lines.join('\n')}\n`)
console.log(`${file}: ${events.length} events, ${Math.round(events.at(-1)?.[0] ?? 0)} s`)
process.exit(0)

async function record(): Promise<void> {
  const [proxy = 0, proxyless = 0, gateway = 0] = freePorts(3)
  const start = `npm start -- --port ${proxy} --proxylessPort ${proxyless} --gatewayPort ${gateway}`
  const terminal = openTerminal()
  try {
    await terminal.type('git clone --quiet "$REPOSITORY" privatemode && cd privatemode')
    await until(/privatemode\$ $/)
    await startAndStop(terminal, start, proxy)
    await startAndStop(terminal, start, proxy)
  } finally {
    terminal.close()
  }
}

async function startAndStop(terminal: Terminal, start: string, port: number): Promise<void> {
  await terminal.type(start)
  await until(/is ready/)
  await Bun.sleep(1000)
  note('m', 'a chat, from another terminal')
  note('o', '\r\n# In another terminal:\r\n')
  const other = openTerminal()
  const body =
    '{"model":"tinyllama-1.1b-chat","max_tokens":40,"messages":[{"role":"user","content":"Write one sentence about the sea."}]}'
  try {
    await other.type(
      `curl http://127.0.0.1:${port}/v1/chat/completions -H 'content-type: application/json' -d '${body}'`,
    )
    await until(/"finish_reason"/)
    await Bun.sleep(500)
  } finally {
    other.close()
  }
  note('m', 'Ctrl-C')
  shown = ''
  terminal.press('\x03')
  await until(/\$ $/)
  const left = listProcesses().filter(({ args, state }) => args.includes(home) && state !== 'Z')
  if (left.length > 0) throw new Error(`left running: ${left.map(({ args }) => args).join('\n')}`)
}

function openTerminal(): Terminal {
  const decoder = new TextDecoder()
  const child = Bun.spawn(['bash', '--norc', '--noprofile'], {
    cwd: home,
    env: {
      ...{ PATH: process.env.PATH ?? '', HOME: home, REPOSITORY: root, TERM: 'xterm-256color' },
      ...{ PS1: '\\W$ ', LANG: 'C.UTF-8', HISTFILE: '' },
      // Packages that were downloaded before are taken from npm's own cache.
      npm_config_cache: process.env.npm_config_cache ?? join(process.env.HOME ?? '', '.npm'),
    },
    terminal: {
      ...size,
      data(_, bytes) {
        const text = decoder.decode(bytes, { stream: true }).replaceAll(home, '~')
        shown += text
        note('o', text)
      },
    },
  })
  return {
    async type(line) {
      shown = ''
      await Bun.sleep(500)
      child.terminal?.write(`${line}\r`)
    },
    press: (key) => void child.terminal?.write(key),
    close() {
      child.kill('SIGHUP')
      child.terminal?.close()
    },
  }
}

async function until(pattern: RegExp): Promise<void> {
  const deadline = Date.now() + limitMs
  while (!pattern.test(shown)) {
    if (Date.now() > deadline) throw new Error(`${pattern} was not shown:\n${shown.slice(-2000)}`)
    await Bun.sleep(50)
  }
}
