/** The four official clients, which close connections each in its own way: two in this program, two in Python. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { preparePython } from '../../test/clients/python-clients.ts'
import type { Call } from './wire-plan.ts'

export type Job = {
  readonly client: Call['client']
  readonly url: string
  readonly apiKey: string
  /** Many calls over the same connections; otherwise each has a connection of its own. */
  readonly shared: boolean
  /** The model server was told to refuse it. */
  readonly isError: boolean
  readonly body: Readonly<Record<string, unknown>>
}

export type Asked = { readonly requestId: string; readonly totalMs: number }
export type Clients = { ask(job: Job): Promise<Asked>; stop(): void }

export const callLimitMs = 600_000

type PythonResult = { id: number; requestId?: string; totalMs: number; error?: string }

export async function startClients(ca: string): Promise<Clients> {
  const python = await preparePython()
  if ('missing' in python) throw new Error(python.missing)
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-wire-'))
  const caPath = join(folder, 'ca.pem')
  writeFileSync(caPath, ca)
  const child = Bun.spawn([python.path, join(import.meta.dir, 'wire_clients.py')], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
    env: { PATH: process.env.PATH ?? '', SSL_CERT_FILE: caPath, PYTHONDONTWRITEBYTECODE: '1' },
  })
  const waiting = new Map<number, (result: PythonResult) => void>()
  void readLines(child.stdout, (line) => {
    const result = JSON.parse(line) as PythonResult
    waiting.get(result.id)?.(result)
    waiting.delete(result.id)
  })
  const trusted = ((to: string, init: RequestInit) =>
    fetch(to, { ...init, keepalive: false, tls: { ca } } as RequestInit)) as typeof fetch
  let ids = 0
  return {
    async ask(job) {
      if (job.client === 'openai' || job.client === 'anthropic') return await askHere(job, trusted)
      const id = ++ids
      const done = new Promise<PythonResult>((resolve) => waiting.set(id, resolve))
      child.stdin.write(`${JSON.stringify({ id, ...job })}\n`)
      child.stdin.flush()
      const { requestId = '', totalMs, error } = await done
      if (error !== undefined) throw new Error(error)
      return { requestId, totalMs }
    },
    stop() {
      child.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function askHere(job: Job, trusted: typeof fetch): Promise<Asked> {
  const started = performance.now()
  const { url, apiKey, body } = job
  const common = { apiKey, maxRetries: 0, timeout: callLimitMs }
  const fetching = job.shared ? {} : { fetch: trusted }
  let response: Response | undefined
  try {
    if (job.client === 'anthropic') {
      const client = new Anthropic({ baseURL: url, ...common, ...fetching })
      const asked = await client.messages.create(body as never).withResponse()
      response = asked.response
      if (body.stream === true) await readAll(asked.data)
    } else {
      const client = new OpenAI({ baseURL: `${url}/v1`, ...common, ...fetching })
      const asked =
        body.input === undefined
          ? await client.chat.completions.create(body as never).withResponse()
          : await client.embeddings.create(body as never).withResponse()
      response = asked.response
      if (body.stream === true) await readAll(asked.data)
    }
  } catch (error) {
    const headers = (error as { headers?: Headers }).headers
    if (headers === undefined || !job.isError) throw error
    return { requestId: headers.get('x-request-id') ?? '', totalMs: performance.now() - started }
  }
  const requestId = response?.headers.get('x-request-id') ?? ''
  return { requestId, totalMs: performance.now() - started }
}

/** Reads until the client itself says that there is no more, and closes as it does. */
async function readAll(stream: unknown): Promise<void> {
  for await (const _ of stream as AsyncIterable<unknown>);
}

async function readLines(
  stream: ReadableStream<Uint8Array>,
  take: (line: string) => void,
): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
  }
}
