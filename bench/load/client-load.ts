/**
 * What an application's own client costs: `bun bench/load/client-load.ts SPEC`.
 *
 * OpenAI's SDK makes chats or reads streams, as many at once as it is told, with the runtime's
 * `fetch` or with ours, which seals. Prints one line of JSON.
 */
import { readFileSync } from 'node:fs'
import { Privatemode } from '@privatemode/sdk'
import { acceptSoftware } from '@privatemode/sdk/software'
import OpenAI from 'openai'
import { Histogram } from './histogram.ts'
import { type LoadResult, models, type SealedSpec } from './load-spec.ts'

export type ClientSpec = {
  /** Ends with `/v1`. */
  readonly baseUrl: string
  readonly stream: boolean
  readonly atOnce: number
  readonly seconds: number
  readonly warmSeconds: number
  /** Seals by our SDK, without a proxy. */
  readonly sealed?: SealedSpec
}

export type ClientResult = Pick<
  LoadResult,
  'requests' | 'latencyUs' | 'firstByteUs' | 'cpuSeconds' | 'wallSeconds'
>

const spec = JSON.parse(process.argv[2] ?? '{}') as ClientSpec
const content = 'x'.repeat(940)
const client = await createClient()
let counted = { latency: new Histogram(), firstByte: new Histogram(), requests: 0 }

await runFor(spec.warmSeconds)
counted = { latency: new Histogram(), firstByte: new Histogram(), requests: 0 }
const before = process.cpuUsage()
const startMs = performance.now()
await runFor(spec.seconds)
const { user, system } = process.cpuUsage(before)
const result: ClientResult = {
  requests: counted.requests,
  latencyUs: spreadOf(counted.latency),
  firstByteUs: spreadOf(counted.firstByte),
  cpuSeconds: (user + system) / 1_000_000,
  wallSeconds: (performance.now() - startMs) / 1000,
}
console.log(JSON.stringify(result))
process.exit(0)

async function createClient(): Promise<OpenAI> {
  const { sealed, baseUrl } = spec
  const fixed = { maxRetries: 0 }
  if (sealed === undefined) return new OpenAI({ ...fixed, baseURL: baseUrl, apiKey: 'bench' })
  const { url: endpoint, apiKey, manifestPath, rootFingerprint, shape } = sealed
  const private_ = await Privatemode.connect({
    ...{ endpoint, apiKey, shape },
    manifest: { pinned: readFileSync(manifestPath) },
    software: acceptSoftware(rootFingerprint),
  })
  return new OpenAI({ ...fixed, baseURL: private_.baseURL, apiKey, fetch: private_.fetch })
}

async function runFor(seconds: number): Promise<void> {
  const endMs = performance.now() + seconds * 1000
  const one = async () => {
    while (performance.now() < endMs) await ask()
  }
  await Promise.all(Array.from({ length: spec.atOnce }, one))
}

async function ask(): Promise<void> {
  const { latency, firstByte } = counted
  const sentMs = performance.now()
  const elapsedUs = () => (performance.now() - sentMs) * 1000
  const asked = { model: models.plain, messages: [{ role: 'user' as const, content }] }
  if (spec.stream) {
    let isFirst = true
    for await (const _chunk of await client.chat.completions.create({ ...asked, stream: true })) {
      if (isFirst) firstByte.add(elapsedUs())
      isFirst = false
    }
  } else await client.chat.completions.create(asked)
  latency.add(elapsedUs())
  counted.requests++
}

function spreadOf(values: Histogram): LoadResult['latencyUs'] {
  return { p50: values.quantile(0.5), p99: values.quantile(0.99), most: values.most }
}
