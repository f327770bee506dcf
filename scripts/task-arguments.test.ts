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

test.each([
  ['build:weights', [], 'expected one folder of weights: npm run task -- build:weights DIR'],
  [
    'build:weights',
    ['a', 'b'],
    'expected one folder of weights: npm run task -- build:weights DIR',
  ],
  [
    'build:weights',
    ['a', '--label', 'A'],
    '--label is A, expected weights-NAME with at most 11 lower-case letters and digits',
  ],
  ['build:machine', [], 'expected one configuration: npm run task -- build:machine CONFIG'],
  ['build:machine', ['a', '--variant', 'x'], '--variant is not one of production, software, debug'],
  ['build:server', [], 'expected one OCI layout: npm run task -- build:server LAYOUT'],
])('%s with the arguments %j is refused in one line', (name, args, message) => {
  const file = join(root, tasks[name]?.file ?? '')
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, file, ...args])
  expect(exitCode).toBe(2)
  expect(stderr.toString()).toBe(`error: ${message}\n`)
})
