import { expect, test } from 'bun:test'
import { envName, type Flag, parseFlags } from '@privatemode/service'
import { program } from './flag-table.ts'
import { readSettings, type Settings } from './settings.ts'

const root = 'ab'.repeat(32)
const salt = 's'.repeat(32)
const base = ['--apiEndpoint', 'api.test:443', '--manifestLogKey', 'log+key']

function read(args: string[], env: Record<string, string> = {}): Settings {
  const result = readSettings({ args, env })
  if (result.kind !== 'settings') throw new Error(result.kind)
  return result.settings
}

test('the defaults are those of the interface', () => {
  expect(read(base)).toMatchObject({
    listen: { address: '127.0.0.1', port: 8080 },
    apiUrl: 'https://api.test',
    apiKey: undefined,
    manifest: {
      kind: 'log',
      url: 'https://api.test/privatemode/v1/log',
      trust: { logKey: 'log+key', witnesses: [], quorum: 0 },
    },
    revocation: { allowUnknown: true, graceHours: 48 },
    salt: { kind: 'isolated' },
    tls: undefined,
    mode: { kind: 'local', allowedHosts: [] },
    softwareRoot: undefined,
    shape: 'default',
    workspace: '.',
    dumpRequests: false,
    metrics: false,
    cacheCheckMs: undefined,
    bodyLimitBytes: 32 * 1024 * 1024,
    log: { format: 'text', level: 0 },
  })
})

test('no service is built in, and the message says what to set', () => {
  expect(() => read(['--manifestLogKey', 'k'])).toThrow('set --apiEndpoint to host:port of yours')
})

test('an endpoint is host:port over HTTPS; plain http is for loopback only', () => {
  const url = (endpoint: string) => read(['--apiEndpoint', endpoint, ...base.slice(2)]).apiUrl
  expect(url('api.test:8443')).toBe('https://api.test:8443')
  expect(url('api.test')).toBe('https://api.test')
  expect(url('http://127.0.0.1:8090/')).toBe('http://127.0.0.1:8090')
  expect(() => url('http://api.test:80')).toThrow('plain http to another machine')
  expect(() => url('not a host')).toThrow('expected host:port')
  expect(() => url('user:pw@api.test')).toThrow('expected host:port')
})

const refusals: [string, string[], string][] = [
  [
    'a short salt',
    ['--sharedPromptCache', '--promptCacheSalt', 'short'],
    'has 5 bytes, expected at least 32',
  ],
  ['cache checks without a key', ['--cacheCheckMinutes', '60'], 'needs --apiKey'],
  ['a salt without sharing', ['--promptCacheSalt', salt], 'requires --sharedPromptCache'],
  ['a certificate without a key', ['--tlsCertPath', 'c'], 'without --tlsKeyPath'],
  ['a key without a certificate', ['--tlsKeyPath', 'k'], 'without --tlsCertPath'],
  [
    'two manifest sources',
    ['--manifestPath', 'm', '--manifestEndpoint', 'x.test:443'],
    'two sources',
  ],
  ['software without a root', ['--allowSoftwareAttestation'], 'needs --softwareRootFingerprint'],
  [
    'a root without software',
    ['--softwareRootFingerprint', root],
    'without --allowSoftwareAttestation',
  ],
  [
    'a root that is not a fingerprint',
    ['--allowSoftwareAttestation', '--softwareRootFingerprint', 'ab'],
    'not 64 hex digits',
  ],
  ['hosted without a secret', ['--hosted'], 'needs --hostedSaltSecret'],
  ['hosted with a short secret', ['--hosted', '--hostedSaltSecret', 'x'], 'expected at least 32'],
  ['hosted without TLS', ['--hosted', '--hostedSaltSecret', salt], 'serves HTTPS only'],
  [
    'hosted with a key',
    ['--hosted', '--hostedSaltSecret', salt, '--apiKey', 'k'],
    'leave out --apiKey',
  ],
  [
    'hosted with a shared cache',
    ['--hosted', '--hostedSaltSecret', salt, '--sharedPromptCache'],
    'one cache per API key',
  ],
  [
    'hosted with dumps',
    ['--hosted', '--hostedSaltSecret', salt, '--dumpRequests'],
    "other people's prompts",
  ],
  ['a hosted secret without hosted', ['--hostedSaltSecret', salt], 'is for --hosted'],
  ['an invalid port', ['--port', '70000'], 'expected a number from 0 to 65535'],
  ['an invalid log level', ['-l', 'loud'], 'expected debug, info, warn, error or a number'],
]

test.each(refusals)('%s is refused with the remedy', (_name, args, message) => {
  expect(() => read([...base, ...args])).toThrow(message)
})

test("without a manifest file the log's key is required", () => {
  expect(() => read(['--apiEndpoint', 'a.test'])).toThrow('set --manifestLogKey')
  expect(read(['--apiEndpoint', 'a.test', '--manifestPath', 'm.json']).manifest).toEqual({
    kind: 'file',
    path: 'm.json',
  })
})

test('the manifest endpoint can be a different host', () => {
  const { manifest } = read([...base, '--manifestEndpoint', 'manifest.test:443'])
  expect(manifest).toMatchObject({ kind: 'log', url: 'https://manifest.test' })
})

test('the three caching modes', () => {
  expect(read([...base, '--sharedPromptCache']).salt).toEqual({ kind: 'shared-random' })
  expect(read([...base, '--sharedPromptCache', '--promptCacheSalt', '']).salt).toEqual({
    kind: 'shared-random',
  })
  expect(read([...base, '--sharedPromptCache', '--promptCacheSalt', salt]).salt.kind).toBe('shared')
})

test('a salt is measured in bytes, not in characters', () => {
  const umlauts = 'ä'.repeat(16)
  expect(read([...base, '--sharedPromptCache', '--promptCacheSalt', umlauts]).salt.kind).toBe(
    'shared',
  )
})

test("the vendor's own names are aliases", () => {
  const { revocation } = read([
    ...base,
    '--nvidiaOCSPAllowUnknown=false',
    '--nvidiaOCSPRevokedGracePeriod',
    '0',
  ])
  expect(revocation).toEqual({ allowUnknown: false, graceHours: 0 })
})

test.each(Object.keys(program.flags))('--%s can be set by its environment variable', (name) => {
  const flag: Flag = program.flags[name as keyof typeof program.flags]
  const samples = { boolean: 'true', integer: '2', string: 'text', secret: 'text' }
  const sample = ('choices' in flag ? flag.choices?.[0] : undefined) ?? samples[flag.type]
  const byFlag = parseFlags(program, { args: [`--${name}=${sample}`], env: {} })
  const variable = envName(program.envPrefix, name)
  const byVariable = parseFlags(program, { args: [], env: { [variable]: sample } })
  const neither = parseFlags(program, { args: [], env: {} })
  expect(byVariable).toEqual(byFlag)
  expect(byVariable).not.toEqual(neither)
})

test('variables become settings', () => {
  const settings = read([], {
    PRIVATEMODE_PROXY_API_ENDPOINT: 'env.test:1',
    PRIVATEMODE_PROXY_MANIFEST_LOG_KEY: 'k',
    PRIVATEMODE_PROXY_VENDOR_OCSP_REVOKED_GRACE_PERIOD: '7',
    PRIVATEMODE_PROXY_VENDOR_OCSP_ALLOW_UNKNOWN: 'false',
    PRIVATEMODE_PROXY_LOG_FORMAT: 'json',
    PRIVATEMODE_PROXY_LOG_LEVEL: '4',
    PRIVATEMODE_PROXY_DUMP_REQUESTS: 'true',
    PRIVATEMODE_PROXY_PORT: '9',
  })
  expect(settings).toMatchObject({
    apiUrl: 'https://env.test:1',
    revocation: { graceHours: 7, allowUnknown: false },
    log: { format: 'json', level: 4 },
    dumpRequests: true,
    listen: { port: 9 },
  })
})

test("the vendor's own names are variables, too, and may not contradict", () => {
  const named = { PRIVATEMODE_PROXY_NVIDIA_OCSP_ALLOW_UNKNOWN: 'false' }
  expect(read(base, named).revocation.allowUnknown).toBe(false)
  const both = { ...named, PRIVATEMODE_PROXY_VENDOR_OCSP_ALLOW_UNKNOWN: 'true' }
  expect(() => read(base, both)).toThrow('are the same flag but differ')
})

test('a Kubernetes service variable is not used as the listening port', () => {
  const env = { PRIVATEMODE_PROXY_PORT: 'tcp://10.0.0.1:8080' }
  expect(read(base, env).listen.port).toBe(8080)
  expect(() => read(base, { PRIVATEMODE_PROXY_PORT: '10.0.0.1' })).toThrow('--port')
})

test('an empty API key counts as unset', () => {
  expect(read([...base, '--apiKey', '']).apiKey).toBeUndefined()
})
