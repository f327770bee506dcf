/** The program's start: help, flags that stop it, files and variables it reads. */
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createNoteSigner } from '@privatemode/attestation'
import { program } from '../../apps/proxy/src/flag-table.ts'
import { runProxy } from './proxy-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-start-'))
const { verifierKey } = await createNoteSigner('start.test/log')
const witness = await createNoteSigner('w1.test', 'cosignature/v1')
const endpoint = ['--apiEndpoint', 'http://127.0.0.1:1']
const base = [...endpoint, '--manifestLogKey', verifierKey, '--workspace', folder]

const brokenManifest = join(folder, 'broken.json')
writeFileSync(brokenManifest, '{"version":1,')

async function refusal(args: string[], env?: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await runProxy(args, env)
  expect(code).toBe(2)
  expect(stdout).toBe('')
  // One sentence, without a stack.
  expect(stderr.trim().split('\n')).toHaveLength(1)
  return stderr
}

describe('help', () => {
  test.each(['--help', '-h'])('%s lists every flag and ends with 0', async (flag) => {
    const { code, stdout } = await runProxy([flag])
    expect(code).toBe(0)
    for (const name of Object.keys(program.flags)) expect(stdout).toContain(`--${name}`)
  })

  test('every flag of the interface is there with its default', () => {
    const defaults = Object.fromEntries(
      Object.entries(program.flags).map(([name, flag]) => [
        name,
        'default' in flag ? flag.default : undefined,
      ]),
    )
    expect(defaults).toMatchObject({
      apiEndpoint: 'api.privatemode.example:443',
      apiKey: undefined,
      dumpRequests: undefined,
      'log-format': 'text',
      'log-level': 'info',
      manifestPath: undefined,
      vendorOCSPAllowUnknown: true,
      vendorOCSPRevokedGracePeriod: 48,
      port: '8080',
      promptCacheSalt: undefined,
      sharedPromptCache: undefined,
      tlsCertPath: undefined,
      tlsKeyPath: undefined,
      workspace: '.',
    })
  })

  test('--version says the version', async () => {
    const { code, stdout } = await runProxy(['--version'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: `privatemode-proxy ${program.version}\n` })
  })
})

describe('an impossible start fails with one sentence and the remedy', () => {
  const cases: [string, string[], string][] = [
    ['no endpoint', [], 'set --apiEndpoint'],
    ['an unknown flag', ['--nope'], 'unknown flag --nope'],
    ['an unknown agent', ['curser', ...base], 'not one of the agents claude, codex, opencode'],
    [
      'a salt without sharing',
      [...base, '--promptCacheSalt', 'x'.repeat(32)],
      '--sharedPromptCache',
    ],
    ['a short salt', [...base, '--sharedPromptCache', '--promptCacheSalt', 'x'], 'at least 32'],
    ['one TLS path', [...base, '--tlsCertPath', 'c.pem'], '--tlsKeyPath'],
    [
      'TLS files that are not there',
      [...base, '--tlsCertPath', 'c', '--tlsKeyPath', 'k'],
      'cannot be read',
    ],
    ['a key file that is not there', [...base, '--apiKey', '@/nowhere'], 'cannot be read'],
    [
      'a manifest file that is not there',
      [...base, '--manifestPath', '/nowhere'],
      'cannot be read',
    ],
    ['a workspace that cannot be', [...base.slice(0, 4), '--workspace', '/proc/x'], '--workspace'],
    ['an address of another machine', [...base, '--listenAddress', '192.0.2.9'], 'has no address'],
    [
      'a policy for the log that cannot be met',
      [...base, '--manifestLogKey', 'log a\nquorum b'],
      '--manifestLogKey is neither a key nor a policy',
    ],
    [
      'a key of the log that is none',
      [...base, '--manifestLogKey', 'KEY'],
      '--manifestLogKey cannot be used: signed note: verifier key "KEY" has an unknown form; ask',
    ],
    [
      'a key of the log that was mistyped, with several processes too',
      [...base, '--manifestLogKey', verifierKey.replace('start', 'stort'), '--workers', '2'],
      '--manifestLogKey cannot be used: signed note: verifier key of stort.test/log has id',
    ],
    [
      'a key of the log that is that of a witness',
      [...base, '--manifestLogKey', witness.verifierKey],
      '--manifestLogKey cannot be used: trust in a log: the key of log w1.test is the key of a',
    ],
    [
      'a manifest file that is no manifest',
      [...endpoint, '--manifestPath', brokenManifest, '--workspace', folder],
      'broken.json cannot be used: manifest: not JSON: unexpected end at 13; ask the operator',
    ],
    ['a format that is none', [...base, '--log-format', 'xml'], 'expected json, text'],
  ]
  test.each(cases)('%s', async (_name, args, message) => {
    expect(await refusal(args)).toContain(message)
  })

  test('a busy port', async () => {
    const other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('x') })
    const port = String(other.port)
    const { code, stderr } = await runProxy([...base, '--port', port])
    expect(code).toBe(2)
    expect(stderr).toContain(`port ${port} on 127.0.0.1 is in use; stop the other program`)
    await other.stop(true)
  })

  test('a bundle that is not there', async () => {
    const { code, stderr } = await runProxy(base, { SSL_CERT_FILE: '/nowhere.pem' })
    expect(code).toBe(2)
    expect(stderr).toContain('SSL_CERT_FILE names /nowhere.pem')
  })

  test('an invalid variable is named', async () => {
    const env = { PRIVATEMODE_PROXY_LOG_LEVEL: 'loud' }
    expect(await refusal(base, env)).toContain('expected debug, info, warn, error or a number')
    const hours = { PRIVATEMODE_PROXY_VENDOR_OCSP_REVOKED_GRACE_PERIOD: 'two' }
    expect(await refusal(base, hours)).toContain(
      'PRIVATEMODE_PROXY_VENDOR_OCSP_REVOKED_GRACE_PERIOD',
    )
  })

  test('a refused start prints no secret', async () => {
    const salt = join(folder, 'salt')
    writeFileSync(salt, 'canary-short-salt\n')
    const text = await refusal([...base, '--sharedPromptCache', '--promptCacheSalt', `@${salt}`])
    expect(text).toContain('17 bytes')
    expect(text).not.toContain('canary')
  })
})
