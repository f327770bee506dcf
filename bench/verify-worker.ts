/** What verifying one worker costs, SEV-SNP with a GPU: in the programs, and in Chromium. */
import { existsSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { chromium } from 'playwright-core'
import { formatBase64 } from '../packages/attestation/src/bytes.ts'
import { hardwareWorld } from '../packages/attestation/src/testing/hardware-world.ts'
import { fullSizeCollateral } from '../packages/attestation/src/testing/nvidia-full-size.ts'
import { type VerifyWorkerInputs, verifyWorker } from '../packages/attestation/src/verify-worker.ts'
import { median } from './median.ts'
import type { PageInputs, PageTimes } from './verify-worker-page.ts'

const limitMs = { program: 50, browser: 250 }
const rounds = 40

const inputs = await makeInputs()
await measureProgram()
await measureBrowser()

/** One GPU with evidence as large as a real one's; only the keys are a test vendor's. */
async function makeInputs(): Promise<VerifyWorkerInputs> {
  const world = await hardwareWorld()
  const inputs = await world.inputs({ cpu: 'snp', gpus: [0] })
  const collateral = await fullSizeCollateral(world.gpus[0]!)
  const [gpu] = inputs.evidence.devices
  const devices = [{ ...gpu!, ...collateral }]
  return { ...inputs, evidence: { ...inputs.evidence, devices } }
}

async function measureProgram(): Promise<void> {
  for (let round = 0; round < 5; round++) await verifyWorker(inputs)
  const wall: number[] = []
  const before = process.cpuUsage()
  for (let round = 0; round < rounds; round++) {
    const started = performance.now()
    await verifyWorker(inputs)
    wall.push(performance.now() - started)
  }
  const { user, system } = process.cpuUsage(before)
  const cpuMs = (user + system) / 1000 / rounds
  report('program', `${cpuMs.toFixed(1)} ms of one core, ${describe(wall)}`, cpuMs)
}

async function measureBrowser(): Promise<void> {
  const executablePath = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find(existsSync)
  if (executablePath === undefined) {
    console.log('browser: skipped, there is no Chromium here')
    return
  }
  const script = await bundlePage()
  const page: PageInputs = {
    ...inputs,
    nonce: formatBase64(inputs.nonce),
    statement: formatBase64(inputs.statement),
    manifest: formatBase64(inputs.manifest.bytes),
    at: inputs.at.toISOString(),
    rounds,
  }
  using server = servePage(script, page)
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-background-networking'],
  })
  try {
    const tab = await browser.newPage()
    await tab.goto(`http://localhost:${server.port}/`)
    const times = (await tab.evaluate('globalThis.times')) as PageTimes
    const { first, later } = times
    report('browser', `first ${first.toFixed(1)} ms, then ${describe(later)}`, median(later))
  } finally {
    await browser.close()
  }
}

async function bundlePage(): Promise<string> {
  const built = await Bun.build({
    entrypoints: [new URL('verify-worker-page.ts', import.meta.url).pathname],
    target: 'browser',
    minify: true,
  })
  const script = await built.outputs[0]!.text()
  const kilobytes = gzipSync(script).length / 1024
  console.log(
    `the verifier for browsers: ${(script.length / 1024).toFixed(0)} kB, ${kilobytes.toFixed(0)} kB compressed`,
  )
  return script
}

function servePage(script: string, page: PageInputs) {
  const html = '<!doctype html><script type="module" src="/page.js"></script>'
  return Bun.serve({
    hostname: 'localhost',
    port: 0,
    routes: {
      '/': new Response(html, { headers: { 'content-type': 'text/html' } }),
      '/page.js': new Response(script, { headers: { 'content-type': 'text/javascript' } }),
      '/inputs.json': Response.json(page),
    },
  })
}

function report(where: keyof typeof limitMs, figures: string, ms: number): void {
  const verdict = ms < limitMs[where] ? 'within' : 'ABOVE'
  console.log(`${where}: ${figures}; ${verdict} the limit of ${limitMs[where]} ms`)
  if (ms >= limitMs[where]) process.exitCode = 1
}

function describe(times: readonly number[]): string {
  return `median ${median(times).toFixed(1)} ms, slowest ${Math.max(...times).toFixed(1)} ms of ${times.length}`
}
