import { expect, test } from 'bun:test'
import { freePorts } from '@privatemode/service/testing'
import { thrown } from '../../../../test/rejection.ts'
import { runCommand } from './command.ts'
import { commands } from './commands.ts'

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

test('help keeps the longest command apart from its description', async () => {
  const help = await run('keys', '--help')
  expect(help).toContain('\n  invitations revoke  revoke')
  for (const name of Object.keys(commands)) expect(help).toContain(`\n  ${name}  `)
})

test('a command without the admin token says how to set it', async () => {
  expect(await thrown(run('keys', 'list'))).toThrow(
    "set --adminToken to the gateway's admin token, or to @path of a file that contains it",
  )
})

test('a server that is not a gateway is named, and its answer is not printed', async () => {
  const answers: Response[] = [
    new Response('<html>', { status: 501, headers: { 'content-type': 'text/html' } }),
    new Response('<html>', { headers: { 'content-type': 'text/html' } }),
    new Response('{', { headers: { 'content-type': 'application/json' } }),
    new Response(null, { status: 204 }),
  ]
  using server = Bun.serve({ port: 0, fetch: () => answers.shift() ?? new Response() })
  const list = () =>
    run('keys', 'list', '--adminToken', 'x', '--gateway', `http://127.0.0.1:${server.port}`)
  for (const status of [501, 200, 200, 204]) {
    expect(await thrown(list())).toThrow(
      `http://127.0.0.1:${server.port} answered ${status}, not as a gateway does; check --gateway`,
    )
  }
})

test('a gateway that does not run, or an address that is none, is reported with the flag', async () => {
  const [port] = freePorts(1)
  const list = (gateway: string) => run('keys', 'list', '--adminToken', 'x', '--gateway', gateway)
  expect(await thrown(list(`http://127.0.0.1:${port}`))).toThrow(
    `127.0.0.1:${port} refuses connections; is the gateway running? --gateway sets its address`,
  )
  expect(await thrown(list('127.0.0.1:8090'))).toThrow(
    '--gateway must be http:// or https:// and a host',
  )
})
