import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Supervisor } from './supervisor.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-supervisor-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const program = (name: string, source: string) => {
  const path = join(folder, `${name}.ts`)
  writeFileSync(path, source)
  return { name, program: path, args: [] }
}

async function until(holds: () => boolean, limitMs = 120_000): Promise<void> {
  const deadline = Date.now() + limitMs
  while (!holds()) {
    if (Date.now() > deadline) throw new Error('the condition was not met in time')
    await Bun.sleep(20)
  }
}

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('a part that exits is restarted, and its last line is shown', async () => {
  const said: string[] = []
  const supervisor = new Supervisor({
    logDir: join(folder, 'a'),
    say: (line) => void said.push(line),
  })
  supervisor.start(program('short', "console.error('no luck'); process.exit(3)"), 50)
  await until(() => said.filter((line) => line.includes('restarting it')).length >= 3)
  await supervisor.stop(['short'], 1000)
  expect(said[0]).toContain('short exited (exit code 3); restarting it in 0.05 s')
  expect(said.join('\n')).toContain('its last line: no luck')
  expect(said.join('\n')).toContain('0.2 s') // the pause doubles
}, 240_000)

test('a part that ignores the signal is killed eventually', async () => {
  const supervisor = new Supervisor({ logDir: join(folder, 'b'), say: () => {} })
  const source = "process.on('SIGTERM', () => {}); console.log('up'); setInterval(() => {}, 1000)"
  supervisor.start(program('deaf', source))
  await until(() => readFileSync(supervisor.logPath('deaf'), 'utf8').includes('up'))
  const pid = supervisor.pidOf('deaf') ?? 0
  await supervisor.stop(['deaf'], 300)
  expect(isAlive(pid)).toBe(false)
}, 240_000)

test('parts end when the supervisor itself is killed', async () => {
  const part = program(
    'orphan',
    `import { endWithParent } from '${Bun.resolveSync('@privatemode/service/end-with-parent', import.meta.dir)}'
     endWithParent()
     console.log(process.pid); setInterval(() => {}, 1000)`,
  )
  const stack = join(folder, 'stack.ts')
  const supervisorPath = join(import.meta.dir, 'supervisor.ts')
  writeFileSync(
    stack,
    `import { Supervisor } from '${supervisorPath}'
     new Supervisor({ logDir: '${join(folder, 'c')}', say() {} }).start(${JSON.stringify(part)})
     setInterval(() => {}, 1000)`,
  )
  const parent = Bun.spawn([process.execPath, stack])
  const log = join(folder, 'c', 'orphan.log')
  const read = () => {
    try {
      return readFileSync(log, 'utf8')
    } catch {
      return ''
    }
  }
  await until(() => /\d+/.test(read()))
  const pid = Number(/\d+/.exec(read())?.[0])
  expect(isAlive(pid)).toBe(true)
  parent.kill('SIGKILL')
  await until(() => !isAlive(pid))
}, 240_000)
