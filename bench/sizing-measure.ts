/** Measures the CPU time of one request in each part, and records it for `bench/sizing.ts`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatManifest } from '@privatemode/attestation'
import {
  createSoftwareRoot,
  formatSoftwareIdentity,
  issueSoftwareLeaf,
  softwareRootFingerprint,
} from '@privatemode/attestation/software/producer'
import { freePort } from '@privatemode/service/testing'
import { startPostgres } from '../apps/gateway/src/testing/postgres-server.ts'
import { startScriptedServer } from '../packages/inference/src/testing/scripted-server.ts'
import { startProgram } from '../test/deploy/running-program.ts'
import { listProcesses } from '../test/process-table.ts'

const token = 'admin-token-for-tests-0123456789abcdef'
const registerToken = 'register-token-for-tests-0123456789abcdef'
const chunks = 128
const wholes = Number(process.argv[2] ?? 1500)
const streams = Math.ceil(wholes / 10)
const folder = mkdtempSync(join(tmpdir(), 'privatemode-sizing-'))
const app = (name: string) => [process.execPath, `apps/${name}/src/main.ts`]

const server = startScriptedServer({ models: ['org/chat-1'] })
const database = await startPostgres()
const root = await createSoftwareRoot({ name: 'sizing', at: new Date(), days: 2 })
const leaf = await issueSoftwareLeaf(root, { name: 'worker', at: new Date(), days: 1 })
writeFileSync(join(folder, 'leaf.json'), await formatSoftwareIdentity(leaf))
const gatewayPort = freePort()
const gatewayUrl = `http://127.0.0.1:${gatewayPort}`
const gateway = startProgram([
  ...[...app('gateway'), '--port', `${gatewayPort}`, '--databaseUrl', database.url],
  ...['--adminToken', token, '--registerToken', registerToken],
])
await gateway.until(/gateway is ready/)
const engine = ['--engineUrl', server.url, '--softwareIdentity', join(folder, 'leaf.json')]
const [described] = await startProgram([...app('worker'), 'describe', ...engine]).until(/^\{.*\}$/m)
const worker = startProgram([
  ...[...app('worker'), '--port', `${freePort()}`, '--gatewayUrl', gatewayUrl],
  ...['--registerToken', registerToken, ...engine],
])
await worker.until(/worker is ready/)
const proxyPort = freePort()
const proxy = startProgram([...app('proxy'), ...(await proxyArgs())])
await proxy.until(/msg=ready/)

try {
  await load(wholes / 5, false) // warm
  const whole = await measured(() => load(wholes, false), wholes)
  const stream = await measured(() => load(streams, true), streams)
  const parts = ['proxy', 'gateway', 'worker', 'postgres'] as const
  const costs = Object.fromEntries(
    parts.map((part) => {
      // The database sees requests, not chunks: what it used longer for streams are heartbeats.
      const perChunk = part === 'postgres' ? 0 : (stream[part] - whole[part]) / chunks
      const chunkMs = Math.max(0, perChunk)
      return [part, { requestMs: round(whole[part]), chunkMs: round(chunkMs) }]
    }),
  )
  const about = { cpu: cpus()[0]?.model ?? '', requests: wholes, streams, chunks }
  const text = `${JSON.stringify({ about, costs, bytesPerUsageRow: await rowBytes() }, null, 2)}\n`
  writeFileSync('bench/sizing-costs.json', text)
  process.stdout.write(text)
} finally {
  for (const program of [proxy, worker, gateway]) await program.stop()
  await database.stop()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

async function load(count: number, stream: boolean): Promise<void> {
  let left = count
  const client = async () => {
    while (left-- > 0) {
      const response = await fetch(`http://127.0.0.1:${proxyPort}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'org/chat-1',
          stream,
          messages: [
            { role: 'user', content: `[[words ${stream ? chunks : 1}]] ${'x'.repeat(1000)}` },
          ],
        }),
      })
      if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
      await response.text()
    }
  }
  await Promise.all(Array.from({ length: 8 }, client))
}

/** CPU milliseconds of each part for one of `count` requests. */
async function measured(work: () => Promise<void>, count: number) {
  const before = cpuOfParts()
  await work()
  const after = cpuOfParts()
  const each = (part: keyof typeof before) => (after[part] - before[part]) / count
  return {
    proxy: each('proxy'),
    gateway: each('gateway'),
    worker: each('worker'),
    postgres: each('postgres'),
  }
}

/** CPU milliseconds that each part has used so far, its children included. */
function cpuOfParts() {
  const used = { proxy: 0, gateway: 0, worker: 0, postgres: 0 }
  const postgresParent = listProcesses().find(({ args }) =>
    args.includes(`-p ${new URL(database.url).port} `),
  )
  for (const { pid, parent, args, cpuMs } of listProcesses()) {
    if (pid === postgresParent?.pid || parent === postgresParent?.pid) used.postgres += cpuMs
    else if (args.includes(`apps/proxy/src/main.ts --port ${proxyPort}`)) used.proxy += cpuMs
    else if (args.includes(`apps/gateway/src/main.ts --port ${gatewayPort}`)) used.gateway += cpuMs
    else if (args.includes('apps/worker/src/main.ts --port') && args.includes(gatewayUrl))
      used.worker += cpuMs
  }
  return used
}

async function rowBytes(): Promise<number> {
  const sql = new Bun.SQL(database.url)
  const [table] =
    await sql`select pg_total_relation_size('usage') as bytes, (select count(*) from usage) as rows`
  await sql.end()
  return Math.round(Number(table.bytes) / Math.max(1, Number(table.rows)))
}

async function proxyArgs(): Promise<string[]> {
  const { measurement, models } = JSON.parse(described ?? '{}')
  const fingerprint = await softwareRootFingerprint(root)
  const rule = { kind: 'software', measurements: [measurement], root: fingerprint, minimum_tcb: 1 }
  const manifest = formatManifest({
    issuedAt: '2026-01-01T00:00:00Z',
    serial: 1,
    evidence: 'software',
    roles: { worker: { accept: [rule] } },
    models,
  })
  writeFileSync(join(folder, 'manifest.json'), manifest)
  const response = await fetch(`${gatewayUrl}/privatemode/v1/admin/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"name":"sizing"}',
  })
  const { secret } = (await response.json()) as { secret: string }
  return [
    ...['--port', `${proxyPort}`, '--workspace', folder, '--apiEndpoint', gatewayUrl],
    ...['--apiKey', secret, '--manifestPath', join(folder, 'manifest.json')],
    ...['--allowSoftwareAttestation', '--softwareRootFingerprint', fingerprint],
  ]
}

function round(value: number): number {
  return Math.round(value * 10_000) / 10_000
}
