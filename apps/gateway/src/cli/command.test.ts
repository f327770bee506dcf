import { expect, test } from 'bun:test'
import { thrown } from '../../../../test/rejection.ts'
import { runCommand } from './command.ts'

const run = async (...args: string[]) => {
  let printed = ''
  const code = await runCommand(args, {}, (text) => {
    printed += text
  })
  return `${code} ${printed}`
}

test('help is shown after a command, or part of one', async () => {
  for (const args of [
    ['keys', '--help'],
    ['keys', 'create', '-h'],
    ['nothing', '--help'],
  ]) {
    expect(await run(...args)).toMatch(/^0 .*keys create {2,}create an API key/s)
  }
})

test('an unknown command is refused with a list of known ones', async () => {
  const known = 'keys create, keys list'
  expect(await thrown(run('keys'))).toThrow(`there is no command "keys"; available: ${known}`)
  expect(await thrown(run('keys', 'make', '--id', 'x'))).toThrow(
    'no command "keys make"; available',
  )
  expect(await thrown(run('keys', 'list', 'all'))).toThrow('no command "keys list all"; available')
})

test('a command without the admin token says what is missing', async () => {
  expect(await thrown(run('keys', 'list'))).toThrow('--adminToken is missing')
})
