import { expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatFlagTable, formatHelp } from './flag-help.ts'
import { parseFlags } from './flags.ts'
import { envName } from './program.ts'

const program = {
  name: 'demo',
  summary: 'Shows flags.',
  version: '1.2.3',
  envPrefix: 'DEMO_',
  flags: {
    port: { type: 'string', default: '8080', help: 'port to listen on' },
    verbose: { type: 'boolean', help: 'say more' },
    vendorOCSPAllowUnknown: {
      type: 'boolean',
      default: true,
      aliases: ['nvidiaOCSPAllowUnknown'],
      help: 'tolerate unknown',
    },
    hours: { type: 'integer', default: 48, max: 100, help: 'grace' },
    level: { type: 'string', default: 'info', short: 'l', help: 'level' },
    shape: { type: 'string', default: 'off', choices: ['off', 'on'], help: 'shape', group: 'Ours' },
    apiKey: { type: 'secret', help: 'key' },
  },
} as const

function parse(args: string[], env: Record<string, string> = {}) {
  const parsed = parseFlags(program, { args, env })
  if (parsed.kind !== 'values') throw new Error('no values')
  return parsed.values
}

test('without arguments every flag has its default', () => {
  const values = parse([])
  expect(values).toMatchObject({ port: '8080', verbose: false, hours: 48, level: 'info' })
  expect(values.vendorOCSPAllowUnknown).toBe(true)
  expect(values.apiKey).toBeUndefined()
})

test('values follow a flag as the next argument or after an equals sign', () => {
  expect(parse(['--port', '1', '--hours=0', '-l', 'debug'])).toMatchObject({
    port: '1',
    hours: 0,
    level: 'debug',
  })
})

test('a boolean flag works alone or with true or false in either spelling', () => {
  expect(parse(['--verbose']).verbose).toBe(true)
  expect(parse(['--verbose=false']).verbose).toBe(false)
  expect(parse(['--vendorOCSPAllowUnknown', 'false']).vendorOCSPAllowUnknown).toBe(false)
  expect(parse(['--verbose', '--port', '2'])).toMatchObject({ verbose: true, port: '2' })
})

test('an alias sets the flag, and an alias that contradicts the flag is refused', () => {
  expect(parse(['--nvidiaOCSPAllowUnknown=false']).vendorOCSPAllowUnknown).toBe(false)
  expect(() => parse(['--nvidiaOCSPAllowUnknown=false', '--vendorOCSPAllowUnknown=true'])).toThrow(
    'are the same flag but differ',
  )
})

test('the environment sets a flag, and the command line overrides it', () => {
  expect(parse([], { DEMO_HOURS: '7' }).hours).toBe(7)
  expect(parse(['--hours', '8'], { DEMO_HOURS: '7' }).hours).toBe(8)
  expect(envName('P_', 'vendorOCSPAllowUnknown')).toBe('P_VENDOR_OCSP_ALLOW_UNKNOWN')
  expect(envName('P_', 'log-format')).toBe('P_LOG_FORMAT')
  expect(envName('P_', 'tlsCertPath')).toBe('P_TLS_CERT_PATH')
})

test('unknown flags, stray arguments, missing values and bad values are refused by name', () => {
  expect(() => parse(['--nope'])).toThrow('unknown flag --nope')
  expect(() => parse(['stray'])).toThrow('unexpected argument')
  expect(() => parse(['--port'])).toThrow('--port needs a value')
  expect(() => parse(['--hours', '-1'])).toThrow('whole number from 0 to 100')
  expect(() => parse(['--hours', '1e3'])).toThrow('whole number')
  expect(() => parse(['--shape', 'x'])).toThrow('expected off, on')
  expect(() => parse(['--verbose=perhaps'])).toThrow('expected true or false')
})

test('a mistyped flag is refused with the one that was probably meant', () => {
  const typed = ['--apikey', '--prot', '--por', '--ports', '--pört', '--nvidiaOcspAllowUnknow']
  const meant = ['--apiKey', '--port', '--port', '--port', '--port', '--nvidiaOCSPAllowUnknown']
  for (const [at, flag] of typed.entries())
    expect(() => parse([flag, 'x'])).toThrow(
      `unknown flag ${flag} (did you mean ${meant[at]}?); see demo --help`,
    )
  for (const flag of ['--nope', '--p', '--portable'])
    expect(() => parse([flag])).toThrow(`unknown flag ${flag}; see demo --help`)
})

test('a stray argument is not repeated in the message, since it may be a secret', () => {
  expect(() => parse(['hunter2'])).not.toThrow('hunter2')
})

test('a secret is a literal or the content of a file without its last newline, and does not print', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'flags-')), 'key')
  writeFileSync(path, 'from-file\n')
  expect(parse(['--apiKey', `@${path}`]).apiKey?.reveal()).toBe('from-file')
  const literal = parse(['--apiKey', 'literal']).apiKey
  expect(literal?.reveal()).toBe('literal')
  const printed = `${literal} ${JSON.stringify([literal])} ${Bun.inspect(literal)}`
  expect(printed).toBe('[secret] ["[secret]"] [secret]')
})

test('a missing or empty secret file is refused', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'flags-')), 'key')
  expect(() => parse(['--apiKey', `@${path}`])).toThrow('cannot be read')
  writeFileSync(path, '\n')
  chmodSync(path, 0o600)
  expect(() => parse(['--apiKey', `@${path}`])).toThrow('is empty')
})

test('help and version have their usual spellings', () => {
  const asked = (...args: string[]) => parseFlags(program, { args, env: {} })
  const help = { kind: 'text', text: formatHelp(program) } as const
  expect(asked('--port', '1', '-h')).toEqual(help)
  expect(asked('--help')).toEqual(help)
  expect(asked('--version')).toEqual({ kind: 'text', text: `${program.name} 1.2.3\n` })
})

test('help lists every flag with its aliases, default and variable', () => {
  const text = formatHelp(program)
  for (const word of ['--port', '-l, --level', '--nvidiaOCSPAllowUnknown', 'default 48', 'Ours:']) {
    expect(text).toContain(word)
  }
})

test("help lists a program's commands", () => {
  expect(formatHelp(program)).not.toContain('Commands')
  const commands = { 'keys create': 'make a key' }
  expect(formatHelp({ ...program, commands })).toContain('\n  keys create\n      make a key\n')
})

test('the documentation table has one row per flag of the group', () => {
  const table = formatFlagTable(program, 'Ours')
  expect(table.trim().split('\n')).toHaveLength(3)
  expect(table).toContain('| `--shape` | string | `off` | `DEMO_SHAPE` | shape (off, on) |')
})
