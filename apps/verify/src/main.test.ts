import { expect, test } from 'bun:test'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('main.ts', import.meta.url))

function run(...args: string[]) {
  const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, program, ...args])
  return { out: stdout.toString(), error: stderr.toString(), exitCode }
}

test('every subcommand explains itself', () => {
  const { out, exitCode } = run('--help')
  expect(exitCode).toBe(0)
  for (const [, name = ''] of out.matchAll(/^ {2}([a-z]+) {2,}/gm)) {
    const help = run(name, '--help')
    expect(help).toMatchObject({ exitCode: 0, error: '' })
    const usage = help.out.split('\n').filter((line) => line.startsWith(`${name} `))
    expect(usage).toEqual([]) // without the program it cannot be pasted
    expect(help.out).toContain(`npm run -s verify -- ${name} `)
  }
  expect(out).toContain('evidence')
})

test('a usage error is reported on standard error with exit code 2', () => {
  for (const args of [['nonsense'], ['evidence'], ['evidence', '--type', 'tdx']]) {
    const { out, error, exitCode } = run(...args)
    expect({ out, exitCode }).toEqual({ out: '', exitCode: 2 })
    expect(error).toStartWith('error: ')
  }
})

test('a refusal is one line of JSON on standard output and exits with 1', () => {
  const args = ['--type', 'tdx', '--file', program, '--at', '2026-01-01T00:00:00Z']
  const { out, error, exitCode } = run('evidence', ...args)
  expect({ error, exitCode }).toEqual({ error: '', exitCode: 1 })
  expect(out.trimEnd()).not.toContain('\n')
  expect(JSON.parse(out)).toMatchObject({ authentic: false, code: 'evidence_malformed' })
})
