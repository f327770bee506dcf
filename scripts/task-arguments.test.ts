import { expect, test } from 'bun:test'
import { join } from 'node:path'

const root = join(import.meta.dir, '..')

const tasks = (await Bun.file(join(root, 'scripts/tasks.json')).json()) as Record<
  string,
  { file: string }
>

test.each(['faults', 'hostile', 'bench', 'test:servers'])(
  'a mistyped argument of %s is one line, not a stack trace',
  (name) => {
    const file = join(root, tasks[name]?.file ?? '')
    const { exitCode, stderr } = Bun.spawnSync([process.execPath, file, '--onyl', 'x'])
    expect(exitCode).toBe(2)
    expect(stderr.toString().trim()).toMatch(/^error: [^\n]*--onyl[^\n]*$/)
  },
)
