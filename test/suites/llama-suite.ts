/** Runs llama.cpp's server tests against a proxy, through an adapter for what only that server has. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SuiteResult } from './suite-result.ts'

/** The files about endpoints that both servers have; the others test llama-server's own. */
const files = [
  'unit/test_chat_completion.py',
  'unit/test_compat_anthropic.py',
  'unit/test_compat_oai_responses.py',
  'unit/test_embedding.py',
]

/** One of the files names this port, whatever the environment says. */
const adapterPort = 8082

export type LlamaTarget = {
  readonly proxyUrl: string
  readonly chatModel: string
  readonly embedModel: string
}

export async function runLlamaTests(
  folder: string,
  python: string,
  target: LlamaTarget,
): Promise<SuiteResult> {
  const out = mkdtempSync(join(tmpdir(), 'privatemode-suite-'))
  const adapter = startAdapter(target)
  try {
    const report = join(out, 'report.xml')
    const flags = ['-q', '-p', 'no:cacheprovider', '-m', 'not slow', `--junitxml=${report}`]
    const child = Bun.spawn([python, '-m', 'pytest', ...flags, ...files], {
      cwd: join(folder, 'tools/server/tests'),
      env: { ...process.env, DEBUG_EXTERNAL: '1', PORT: String(adapterPort) },
      stdio: ['ignore', 'ignore', 'ignore'],
      timeout: 600_000,
    })
    await child.exited
    return readJUnit(readFileSync(report, 'utf8'))
  } finally {
    adapter.stop()
    rmSync(out, { recursive: true, force: true })
  }
}

/** Those tests leave out the version in paths and the name of the model: a server has one model there. */
function startAdapter({ proxyUrl, chatModel, embedModel }: LlamaTarget) {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: adapterPort,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url)
      const isVersioned = pathname.startsWith('/v1/') || pathname === '/health'
      const path = isVersioned ? pathname : `/v1${pathname}`
      const { method, signal } = request
      const headers = { 'content-type': 'application/json' }
      if (method !== 'POST') return fetch(proxyUrl + path, { method, headers, signal })
      const body = (await request.json()) as { model?: unknown }
      body.model = path.includes('embedding') ? embedModel : chatModel
      const sent = { method, headers, signal, body: JSON.stringify(body) }
      const { status, headers: got, body: answer } = await fetch(proxyUrl + path, sent)
      const type = got.get('content-type') ?? 'application/json'
      return new Response(answer, { status, headers: { 'content-type': type } })
    },
  })
  return { stop: () => void server.stop(true) }
}

function readJUnit(xml: string): SuiteResult {
  const cases = [...xml.matchAll(/<testcase ([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)]
  const failures = cases.flatMap(([, head = '', inside = '']) => {
    const reason = /<(?:failure|error) message="([^"]*)"/.exec(inside)?.[1]
    if (reason === undefined) return []
    const name = /(?:^| )name="([^"]*)"/.exec(head)?.[1] ?? ''
    const file = /classname="([^"]*)"/.exec(head)?.[1] ?? ''
    return [{ test: `${file} ${readEntities(name)}`, reason: readEntities(reason).slice(0, 300) }]
  })
  const skipped = cases.filter(([, , inside = '']) => inside.includes('<skipped')).length
  return { passed: cases.length - failures.length - skipped, skipped, failures }
}

function readEntities(text: string): string {
  const names: Record<string, string> = { quot: '"', apos: "'", lt: '<', gt: '>', amp: '&' }
  return text
    .replace(/&(quot|apos|lt|gt|amp);/g, (_, name: string) => names[name] ?? '')
    .replace(/&#10;/g, ' ')
}
