/** Witnesses of the manifest log: without signatures of the policy's quorum, nothing is served. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cosignCheckpoint, publishEntry } from '@privatemode/attestation'
import { MemoryLog, newSigner } from '../../packages/attestation/src/testing/memory-log.ts'
import { type ManifestHost, startManifestHost } from './manifest-host.ts'
import { spawnProxy, systemArgs, withoutFlags } from './proxy-process.ts'
import {
  chat,
  chatPath,
  errorOf,
  post,
  type ScriptedSystem,
  startScriptedSystem,
  story,
} from './scripted-system.ts'

type Signer = Awaited<ReturnType<typeof newSigner>>

const folder = mkdtempSync(join(tmpdir(), 'privatemode-witnesses-'))
let scripted: ScriptedSystem
let host: ManifestHost
let signer: Signer
let witnesses: Signer[]
let args: string[]
let policy: string

beforeAll(async () => {
  scripted = await startScriptedSystem()
  host = startManifestHost()
  signer = await newSigner('manifest.service.test')
  witnesses = await Promise.all(
    ['one.test', 'two.test', 'three.test'].map((name) => newSigner(name, 'cosignature/v1')),
  )
  policy = [
    '# whom we believe',
    `log ${signer.verifierKey}`,
    ...witnesses.map(({ key, verifierKey }) => `witness ${key.name} ${verifierKey}`),
    'group most 2 one.test two.test three.test',
    'quorum most',
  ].join('\n')
  args = withoutFlags(systemArgs(scripted.system), ['--manifestPath'])
  args.push('--manifestEndpoint', host.url, '--apiKey', scripted.system.apiKey)
}, 150_000)

afterAll(async () => {
  await host.stop()
  await scripted.system.stop()
}, 240_000)

/** A log whose one checkpoint these have cosigned. */
async function cosignedBy(...cosigners: readonly Signer[]): Promise<MemoryLog> {
  const log = new MemoryLog()
  const cosign = async (checkpoint: Uint8Array<ArrayBuffer>) => {
    let cosigned = checkpoint
    for (const witness of cosigners) {
      cosigned = await cosignCheckpoint(cosigned, witness, new Date())
    }
    return cosigned
  }
  await publishEntry(log, signer, scripted.system.manifest, { cosign })
  return log
}

test('with the quorum the proxy starts, whether file or variable names the witnesses', async () => {
  host.log = await cosignedBy(...witnesses.slice(1))
  const file = join(folder, 'policy')
  writeFileSync(file, `${policy}\n`)
  const proxies = await Promise.all([
    spawnProxy([...args, '--manifestLogKey', `@${file}`]),
    spawnProxy(args, { env: { PRIVATEMODE_PROXY_MANIFEST_LOG_KEY: policy } }),
  ])
  for (const proxy of proxies) {
    await proxy.logged('coordinator manifest fetched successfully')
    expect(await (await post(proxy, chatPath, chat())).text()).toContain(story)
  }
  await Promise.all(proxies.map((proxy) => proxy.stop()))
}, 240_000)

test('without it nothing is served, and log and error state the reason and the remedy', async () => {
  const stranger = await newSigner('four.test', 'cosignature/v1')
  host.log = await cosignedBy(witnesses[0] as Signer, stranger)
  const proxy = await spawnProxy([...args, '--manifestLogKey', policy], { cold: true })
  const line = await proxy.logged('the backend is not verified', 'log_witnesses_missing')
  expect(line).toContain('1 of 3 witnesses have cosigned, expected 2 at least')
  expect(line).toContain('correct the policy in --manifestLogKey')
  const refused = await post(proxy, chatPath, chat())
  expect(refused.status).toBe(502)
  expect(refused.headers.get('x-should-retry')).toBe('false')
  const { error } = await errorOf(refused)
  expect(error.code).toBe('attestation_refused')
  expect(error.message).toContain('ask its operator')
  expect((await fetch(`${proxy.url}/ready`)).status).toBe(503)
  expect(readFileSync(join(proxy.workspace, 'manifests/log.txt'), 'utf8')).toBe('')
  // The same proxy serves once the second witness has signed.
  host.log = await cosignedBy(...witnesses.slice(0, 2))
  await proxy.logged('msg=ready')
  expect((await post(proxy, chatPath, chat())).status).toBe(200)
  await proxy.stop()
}, 240_000)
