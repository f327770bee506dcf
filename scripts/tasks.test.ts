import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import tasks from './tasks.json'

const root = join(import.meta.dir, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }

function runTask(...args: string[]) {
  const run = Bun.spawnSync(['node', join(root, 'scripts/task.mjs'), ...args])
  return { code: run.exitCode, out: run.stdout.toString(), errors: run.stderr.toString() }
}

test('without a name, and with --help, every task is listed', () => {
  const { code, out } = runTask()
  expect(code).toBe(0)
  for (const name of Object.keys(tasks)) expect(out).toContain(`  ${name} `)
  expect(runTask('--help').out).toBe(out)
})

test.each(Object.keys(tasks))('%s has a file whose first comment describes its usage', (name) => {
  const { file } = tasks[name as keyof typeof tasks]
  expect(read(file)).toMatch(/^\/\*\*[\s\S]*?\*\//)
})

test('help for a task is the comment at the top of its file, and starts nothing', () => {
  const { code, out } = runTask('bench', '--help')
  expect(code).toBe(0)
  expect(out).toContain('--quick')
  expect(out).toContain('(bench/main.ts)')
})

test('an unknown task is refused, and so is the name of an inherited property', () => {
  for (const name of ['nothing', 'constructor']) {
    const { code, errors } = runTask(name)
    expect(code).toBe(2)
    expect(errors).toContain(`there is no task ${name}`)
  }
})

test('every script and task that a document or a comment names exists', () => {
  const files = Bun.spawnSync(['git', 'ls-files', '*.md', '*.ts', '*.mjs', '*.yaml', '*.yml'], {
    cwd: root,
  })
  // Examples are separate packages with their own scripts.
  const paths = files.stdout
    .toString()
    .split('\n')
    .filter((path) => path !== '' && !/^(examples|test\/sdk|test\/vectors)\//.test(path))
    .filter((path) => existsSync(join(root, path)))
  for (const path of paths) {
    for (const [, script = ''] of read(path).matchAll(/npm run (?:-s )?([a-z][a-z:-]*[a-z])/g)) {
      expect(`${path}: ${script in scripts ? script : `no script ${script}`}`).toBe(
        `${path}: ${script}`,
      )
    }
    for (const [, task = ''] of read(path).matchAll(/npm run task -- ([a-z][a-z:-]*[a-z])/g)) {
      expect(`${path}: ${task in tasks ? task : `no task ${task}`}`).toBe(`${path}: ${task}`)
    }
  }
})
