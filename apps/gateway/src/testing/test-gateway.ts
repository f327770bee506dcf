/** A gateway for tests on a fresh embedded database or on a given one, with quiet logs. */
import { rmSync } from 'node:fs'
import { createLog } from '@privatemode/service'
import { type Gateway, startGateway } from '../gateway.ts'
import { parseSettings, type Settings } from '../settings.ts'
import type { ScriptedWorker } from './scripted-worker.ts'
import { freshDataDir } from './test-data-dir.ts'

export const adminToken = 'admin-token-for-tests-0123456789abcdef'
export const registerToken = 'register-token-for-tests-0123456789abcdef'

export type TestGateway = {
  readonly gateway: Gateway
  readonly logLines: string[]
  /** A request by a worker or an admin, with the token it needs. */
  operate(method: string, path: string, body?: unknown): Promise<Response>
  register(worker: ScriptedWorker, changes?: Record<string, unknown>): Promise<void>
  createKey(name?: string, more?: Record<string, unknown>): Promise<{ id: string; secret: string }>
  /** A sealed request as a client sends it. */
  seal(secret: string, workers: readonly string[], more?: SealOptions): Promise<Response>
  stop(): Promise<void>
}

export type SealOptions = {
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly model?: string
  readonly requestId?: string
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
}

export type TestGatewayOptions = {
  readonly databaseUrl?: string
  readonly dataDir?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const own =
    options.databaseUrl === undefined && options.dataDir === undefined
      ? await freshDataDir()
      : undefined
  const home =
    options.databaseUrl === undefined
      ? ['--dataDir', options.dataDir ?? own ?? '']
      : ['--databaseUrl', options.databaseUrl]
  const logLines: string[] = []
  const gateway = await startGateway(
    testSettings(
      [...home, '--drainMs', '0', '--logLevel', 'debug', ...(options.args ?? [])],
      options.env,
    ),
    { log: createLog({ format: 'json', level: -4, write: (lines) => logLines.push(lines) }) },
  )
  const operate = (method: string, path: string, body?: unknown) =>
    fetch(`${gateway.url}/privatemode/v1/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${path.startsWith('registry/') ? registerToken : adminToken}`,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  return {
    gateway,
    logLines,
    operate,
    async register(worker, changes = {}) {
      const body = { ...worker.registration, ...changes }
      const response = await operate('PUT', `registry/workers/${worker.id}`, body)
      if (!response.ok) throw new Error(await response.text())
    },
    async createKey(name = 'test', more = {}) {
      const response = await operate('POST', 'admin/keys', { name, ...more })
      if (response.status !== 201) throw new Error(await response.text())
      return (await response.json()) as { id: string; secret: string }
    },
    seal: (secret, workers, more = {}) =>
      fetch(`${gateway.url}/privatemode/v1/sealed`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${secret}`,
          'content-type': 'application/privatemode-sealed',
          'privatemode-request-id': more.requestId ?? newId(),
          'privatemode-model': more.model ?? 'test-model',
          'privatemode-path': '/v1/chat/completions',
          'privatemode-workers': workers.join(','),
          ...more.headers,
        },
        body: more.body ?? 'sealed bytes',
        ...(more.signal === undefined ? {} : { signal: more.signal }),
      }),
    async stop() {
      await gateway.stop()
      if (own !== undefined) rmSync(own, { recursive: true, force: true })
    },
  }
}

export const tokenArgs = ['--adminToken', adminToken, '--registerToken', registerToken]

/** Settings as parsed from flags, on a free port. */
export function testSettings(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Settings {
  const parsed = parseSettings({
    args: ['--port', '0', ...tokenArgs, ...args],
    env,
  })
  if (parsed.kind !== 'settings') throw new Error('expected settings')
  return parsed.settings
}

export function newId(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('hex')
}
