/** What the SDK costs in a browser, beside plain `fetch` in the same run: npm run bench:sdk. */
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
    const figures = `quiet ${quiet(all).toFixed(2)}, median ${median(all).toFixed(2)} ms`
    console.log(`${name}: ${figures} of ${all.length}`)
  }
  const at = (name: string) => quiet(times[name] ?? [])
  judge('the first verified request in a fresh page takes', at('first'), 500, 'ms')
  for (const shape of ['off', 'default']) {
    judge(
      `a later request adds (shape ${shape})`,
      at(`request/${shape}`) - at('request/plain'),
      3,
      'ms',
    )
    const more = (at(`paced/${shape}`) / at('paced/plain') - 1) * 100
    judge(`256 chunks at 5 ms each cost (shape ${shape})`, more, 10, '% more')
  }
  // No model talks this fast: it shows what one chunk costs, and no limit is set on it.
  const perChunk = ((at('burst/off') - at('burst/plain')) / 256) * 1000
  console.log(`256 chunks all at once cost ${perChunk.toFixed(0)} µs more per chunk (shape off)`)
}

function judge(what: string, seen: number, limit: number, unit: string): void {
  const verdict = seen < limit ? 'within' : 'ABOVE'
  console.log(`${what} ${seen.toFixed(1)} ${unit}; ${verdict} the limit of ${limit} ${unit}`)
  if (seen >= limit) process.exitCode = 1
}

/** The mean of the fastest quarter: what the work costs when nothing else has the processor. */
function quiet(times: readonly number[]): number {
  const fastest = times.toSorted((a, b) => a - b).slice(0, Math.ceil(times.length / 4))
  return fastest.reduce((sum, time) => sum + time, 0) / fastest.length
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN
}
