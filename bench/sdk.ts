/** What the SDK costs in a browser, beside plain `fetch` in the same run: npm run bench:sdk. */
import { browsers, runPage } from '../test/sdk/browsers.ts'
import { startSuiteStack } from '../test/sdk/stack-config.ts'
import type { PageTimes } from './sdk-page.ts'

const chromium = browsers.find(({ name }) => name === 'Chromium')?.command
if (chromium === undefined) {
  console.log('skipped: Chromium is not on this machine')
  process.exit(0)
}
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
  const files = { '/config': Response.json(config) }
  const times = (await runPage(chromium, script, files, 300_000)) as PageTimes
  report(times)
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
    const spread = `fastest ${Math.min(...all).toFixed(1)}, slowest ${Math.max(...all).toFixed(1)}`
    console.log(`${name}: median ${median(all).toFixed(2)} ms of ${all.length} (${spread})`)
  }
  const at = (name: string) => median(times[name] ?? [])
  judge('first verified request in a fresh page', at('first in a fresh page'), 500, 'ms')
  for (const shape of ['off', 'default']) {
    const added = at(`request, sealed, shape ${shape}`) - at('request, plain')
    judge(`a later request adds, shape ${shape},`, added, 3, 'ms')
    for (const kind of ['burst', 'paced']) {
      const sealed = at(`${kind} stream, sealed, shape ${shape}`)
      const more = (sealed / at(`${kind} stream, plain`) - 1) * 100
      judge(`a ${kind} stream of 256 chunks, shape ${shape}, costs`, more, 10, '% more')
    }
  }
}

function judge(what: string, seen: number, limit: number, unit: string): void {
  const verdict = seen < limit ? 'within' : 'ABOVE'
  console.log(`${what} ${seen.toFixed(1)} ${unit}; ${verdict} the limit of ${limit} ${unit}`)
  if (seen >= limit) process.exitCode = 1
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN
}
