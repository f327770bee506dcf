/** What the SDK costs in a browser, compared with plain `fetch` in the same run: npm run task -- bench:sdk. */
import { browsers, runPage } from '../test/sdk/browsers.ts'
import { startSuiteStack } from '../test/sdk/stack-config.ts'
import type { PageTimes } from './sdk-page.ts'

const chromium = browsers.find(({ name }) => name === 'Chromium')?.command
if (chromium === undefined) {
  console.log('skipped: Chromium is not on this machine')
  process.exit(0)
}
const freshPages = 5
const suite = await startSuiteStack()
const plain = servePlain(suite.server.url)
try {
  const built = await Bun.build({
    entrypoints: [new URL('sdk-page.ts', import.meta.url).pathname],
    target: 'browser',
    minify: true,
  })
  const script = (await built.outputs[0]?.text()) ?? ''
  const config = { ...suite.config, plainUrl: `http://127.0.0.1:${plain.port}` }
  const open = async (onlyFirst: boolean) => {
    const files = { '/config': Response.json({ ...config, onlyFirst }) }
    return (await runPage(chromium, script, files, 300_000)) as PageTimes
  }
  const first: number[] = []
  for (let i = 0; i < freshPages; i++) first.push(...((await open(true)).first ?? []))
  report({ ...(await open(false)), first })
} finally {
  await plain.stop(true)
  await suite.stop()
}

/** The model server for pages of any origin: one hop, no protection, nothing looked at. */
function servePlain(modelUrl: string) {
  const cors = { 'access-control-allow-origin': '*' }
  const preflight = {
    ...cors,
    'access-control-allow-headers': 'authorization, content-type',
    'access-control-max-age': '7200',
  }
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      if (request.method === 'OPTIONS')
        return new Response(null, { status: 204, headers: preflight })
      const { pathname } = new URL(request.url)
      const body = await request.arrayBuffer()
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
      const response = await fetch(modelUrl + pathname, init)
      const type = response.headers.get('content-type') ?? ''
      return new Response(response.body, { headers: { ...cors, 'content-type': type } })
    },
  })
}

function report(times: PageTimes): void {
  if ('failure' in times) throw new Error(String(times.failure))
  for (const [name, all] of Object.entries(times)) {
    const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(all, share).toFixed(2))
    console.log(`${name}: median ${middle} ms, half of ${all.length} within ${low} to ${high} ms`)
  }
  judge('the first verified request in a fresh page takes', median(times.first ?? []), 500, 'ms')
  for (const shape of ['off', 'default']) {
    const added = median(differences(times, `request/${shape}`, 'request/plain'))
    judge(`a later request adds (shape ${shape})`, added, 3, 'ms')
    const longer = median(differences(times, `paced/${shape}`, 'paced/plain'))
    const more = (longer / median(times['paced/plain'] ?? [])) * 100
    judge(`256 chunks at 5 ms each cost (shape ${shape})`, more, 10, '% more')
  }
  // No model talks this fast: it shows what one chunk costs, and no limit is set on it.
  const perChunk = (median(differences(times, 'burst/off', 'burst/plain')) / 256) * 1000
  console.log(`256 chunks all at once cost ${perChunk.toFixed(0)} µs more per chunk (shape off)`)
}

/** By how much one took longer than the other in each round: a slow moment affects both. */
function differences(times: PageTimes, name: string, other: string): number[] {
  const beside = times[other] ?? []
  return (times[name] ?? []).map((time, round) => time - (beside[round] ?? Number.NaN))
}

function judge(what: string, seen: number, limit: number, unit: string): void {
  const verdict = seen < limit ? 'within' : 'ABOVE'
  console.log(`${what} ${seen.toFixed(1)} ${unit}; ${verdict} the limit of ${limit} ${unit}`)
  if (!(seen < limit)) process.exitCode = 1
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN
}
