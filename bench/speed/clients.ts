/** What an application's own client costs: OpenAI's SDK directly to the model server, through our proxy, and with our `fetch`. */

import { short } from '../charts.ts'
import type { ClientResult, ClientSpec } from '../load/client-load.ts'
import { pinned, root } from './child.ts'
import type { Backend } from './ours.ts'
import type { Target } from './target.ts'

export type ClientRow = ClientResult & {
  readonly client: ClientName
  readonly stream: boolean
  readonly atOnce: number
}

const clients = ['direct', 'through our proxy', 'with our fetch'] as const
type ClientName = (typeof clients)[number]

const loads = [
  { stream: false, atOnce: 1 },
  { stream: false, atOnce: 32 },
  { stream: true, atOnce: 32 },
] as const
const warmSeconds = 2
const graceMs = 30_000

export async function measureClients(
  targets: readonly Target[],
  backend: Backend,
  seconds: number,
): Promise<ClientRow[]> {
  const portOf = (name: Target['name']) => targets.find((target) => target.name === name)?.port
  const rows: ClientRow[] = []
  for (const { stream, atOnce } of loads) {
    for (const client of clients) {
      const port = portOf(client === 'through our proxy' ? 'proxy' : 'direct')
      if (port === undefined) continue
      const spec: ClientSpec = {
        ...{ baseUrl: `http://127.0.0.1:${port}/v1`, stream, atOnce, seconds, warmSeconds },
        ...(client === 'with our fetch' ? { sealed: { ...backend, shape: 'default' } } : {}),
      }
      const result = await run(spec).catch((error: unknown) => {
        console.log(`client ${client}: ${error instanceof Error ? error.message : error}`)
      })
      if (result !== undefined) rows.push({ client, stream, atOnce, ...result })
    }
  }
  return rows
}

async function run(spec: ClientSpec): Promise<ClientResult> {
  const command = [process.execPath, 'bench/load/client-load.ts', JSON.stringify(spec)]
  const options = { cwd: root, stdout: 'pipe', stderr: 'pipe' } as const
  const child = Bun.spawn(pinned('measured', command), options)
  const timer = setTimeout(() => child.kill('SIGKILL'), spec.seconds * 1000 + graceMs)
  const [text, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  clearTimeout(timer)
  if (!text.startsWith('{')) throw new Error(`it broke: ${errors.slice(0, 500)}`)
  return JSON.parse(text) as ClientResult
}

export function formatClients(rows: readonly ClientRow[] | undefined): string[] {
  if (rows === undefined || rows.length === 0) return []
  return [
    '## The SDKs',
    '',
    "OpenAI's SDK in its own process on the first core: directly to the model server, through our proxy (on the same core), and with the",
    '`fetch` of our SDK, which verifies and seals without a proxy (to the same backend as the proxy alone). Streams have 256 chunks; shaped',
    'ones arrive at the pace of their clock, so their time is not comparable, but their CPU time is.',
    '',
    '| | per second | CPU µs of the client | p50 ms | p99 ms | first token p50 ms |',
    '|---|---|---|---|---|---|',
    ...rows.map(formatRow),
    '',
  ]
}

function formatRow(row: ClientRow): string {
  const { requests, wallSeconds, cpuSeconds, latencyUs, firstByteUs } = row
  const load = `${row.stream ? 'streams' : 'small chats'}, ${row.atOnce} at once`
  const ms = (us: number) => short(us / 1000)
  return [
    `| ${load}, ${row.client}`,
    short(requests / wallSeconds),
    short((cpuSeconds * 1e6) / Math.max(1, requests)),
    ms(latencyUs.p50),
    ms(latencyUs.p99),
    row.stream ? `${ms(firstByteUs.p50)} |` : '– |',
  ].join(' | ')
}
