/** The command line that the chart renders is read by the proxy itself. */
import { expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { unlessMissing } from '@privatemode/service/testing'
import { program } from '../../apps/proxy/src/flag-table.ts'
import { readSettings, type Settings } from '../../apps/proxy/src/settings.ts'
import { container } from './effects.ts'
import { byHand, hosted, logKey, minimal } from './proxy-config-effects.ts'
import { chartFolder, renderObjects, type Values, withoutHelm, withValue } from './render.ts'

const chart = chartFolder('chart')
const argsOf = (values: Values): string[] => container(renderObjects(chart, values)).args

const everything: Values = {
  ...minimal,
  config: {
    apiEndpoint: 'api.internal:8443',
    manifestEndpoint: 'https://log.internal/manifests',
    manifestLogKey: logKey,
    manifestMaxAgeHours: 48,
    sharedPromptCache: { enabled: true },
    promptCacheSalt: { enabled: true, secretName: 'salt' },
    tls: { enabled: true, secretName: 'tls' },
    vendorOCSPAllowUnknown: false,
    vendorOCSPRevokedGracePeriod: 0,
    logFormat: 'text',
    logLevel: 'debug',
    dumpRequests: true,
    receipts: true,
    port: 9000,
    listenAddress: '::',
    allowedHosts: ['llm.internal', 'proxy'],
    trafficShape: 'strict',
    workers: 2,
    bodyLimitMib: 64,
    answerSilenceSeconds: 30,
    answerLimitMinutes: 240,
    drainSeconds: 5,
    metrics: true,
    cacheCheckMinutes: 60,
    softwareAttestation: { enabled: true, rootFingerprint: 'a'.repeat(64) },
  },
}
const proxyless = withValue(hosted, 'config.hosted.deploymentManifest.configMapName', 'deployment')

unlessMissing(withoutHelm).describe('the command line of the chart', () => {
  test('can set every flag that the proxy has', () => {
    const set = new Set(
      [everything, proxyless, byHand].flatMap(argsOf).map((arg) => /^--([^=]+)/.exec(arg)?.[1]),
    )
    expect([...set].sort()).toEqual(Object.keys(program.flags).sort())
  })

  test('is accepted by the proxy and means what the values say', () => {
    expect(settingsOf(minimal)).toMatchObject({
      apiUrl: 'https://api.internal',
      listen: { address: '0.0.0.0', port: 8080 },
      mode: { kind: 'local', allowedHosts: [] },
      salt: { kind: 'isolated' },
      shape: 'default',
    })
    expect(settingsOf(minimal).apiKey?.reveal()).toBe(secretText)
    expect(settingsOf(everything)).toMatchObject({
      apiUrl: 'https://api.internal:8443',
      manifest: { kind: 'log', url: 'https://log.internal/manifests', maxAgeHours: 48 },
      listen: { address: '::', port: 9000 },
      mode: { kind: 'local', allowedHosts: ['llm.internal', 'proxy'] },
      revocation: { allowUnknown: false, graceHours: 0 },
      salt: { kind: 'shared' },
      softwareRoot: 'a'.repeat(64),
      shape: 'strict',
      dumpRequests: true,
      receipts: '/workspace/receipts.jsonl',
      metrics: true,
      cacheCheckMs: 3_600_000,
      processes: 2,
      bodyLimitBytes: 64 * 1024 * 1024,
      answers: { silentMs: 30_000, totalMs: 14_400_000 },
      drainMs: 5000,
    })
    expect(settingsOf(proxyless)).toMatchObject({
      apiKey: undefined,
      mode: { kind: 'hosted', manifestPath: '/etc/privatemode/deployment/deployment.json' },
      salt: { kind: 'per-key' },
    })
    const [one, two] = ['a', 'b'].map((name) => `${name}+00000000+${name.repeat(44)}`)
    const policy = `log ${one}\nwitness w ${two}\nquorum w\n`
    expect(settingsOf(withValue(minimal, 'config.manifestLogKey', policy)).manifest).toMatchObject({
      trust: { logKey: one, witnesses: [two], quorum: 1 },
    })
    expect(settingsOf(byHand).manifest).toEqual({
      kind: 'file',
      path: '/etc/privatemode/manifest/manifest.json',
    })
  })
})

const secretText = 'a secret of more than 32 bytes, as tests have them'

/** What the proxy reads from the arguments, with the mounted secrets in a folder of the test. */
function settingsOf(values: Values): Settings {
  const root = mkdtempSync(join(tmpdir(), 'privatemode-mounts-'))
  try {
    const args = argsOf(values).map((arg) => {
      const path = /=@(\/.*)$/.exec(arg)?.[1]
      if (path === undefined) return arg
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), secretText)
      return arg.replace('=@', `=@${root}`)
    })
    const read = readSettings({ args, env: {} })
    if (read.kind !== 'settings') throw new Error(read.kind)
    return read.settings
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}
