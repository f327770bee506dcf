/** Two gateways and three workers as separate processes on a real PostgreSQL. */
import { freePorts } from '@privatemode/service/testing'
import type { Database } from '../state/database.ts'
import { openDatabase } from '../state/open-database.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { adminToken, tokenArgs } from './test-gateway.ts'

export type Child = { kill(): Promise<void>; restart(): void }
export type ClusterKey = { readonly id: string; readonly secret: string }

export type GatewayCluster = {
  readonly postgres: PostgresServer
  readonly database: Database
  readonly urls: readonly string[]
  readonly gateways: readonly Child[]
  readonly workers: readonly Child[]
  readonly key: ClusterKey
  createKey(more: object): Promise<ClusterKey>
  revokeKey(id: string): Promise<void>
  untilWorkers(url: string, count: number): Promise<void>
  stop(): Promise<void>
}

const workerIds = ['w_one', 'w_two', 'w_three']

export async function startGatewayCluster(): Promise<GatewayCluster> {
  const postgres = await startPostgres()
  const ports = freePorts(2)
  const urls = ports.map((port) => `http://127.0.0.1:${port}`)
  const gateways = ports.map((port) => startChild('main.ts', gatewayArgs(port, postgres.url)))
  await Promise.all(urls.map(untilHealthy))
  const workers = workerIds.map((id, index) =>
    startChild('testing/worker-process.ts', [], {
      WORKER_ID: id,
      GATEWAYS: (index === 0 ? urls : urls.toReversed()).join(','),
    }),
  )
  const database = await openDatabase({ kind: 'server', url: postgres.url, connections: 2 })
  const operate = (method: string, path: string, body?: unknown) =>
    fetch(`${urls[1]}/privatemode/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  const createKey = async (more: object) =>
    (await (await operate('POST', 'admin/keys', { name: 'test', ...more })).json()) as ClusterKey
  const key = await createKey({})
  const untilWorkers = (url: string, count: number) => untilListed(url, key, count)
  await Promise.all(urls.map((url) => untilWorkers(url, 3)))
  return {
    ...{ postgres, database, urls, gateways, workers, key, createKey, untilWorkers },
    async revokeKey(id) {
      await (await operate('DELETE', `admin/keys/${id}`)).text()
    },
    async stop() {
      await database.close()
      await Promise.all([...gateways, ...workers].map((child) => child.kill()))
      await postgres.stop()
    },
  }
}

/** A request for any of the workers. */
export function seal(url: string, secret: string, requestId: string): Promise<Response> {
  return fetch(`${url}/privatemode/v1/sealed`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${secret}`,
      'content-type': 'application/privatemode-sealed',
      'privatemode-request-id': requestId,
      'privatemode-model': 'test-model',
      'privatemode-path': '/v1/chat/completions',
      'privatemode-workers': workerIds.toSorted(() => Math.random() - 0.5).join(','),
    },
    body: 'sealed bytes',
  })
}

export async function untilHealthy(url: string): Promise<void> {
  for (;;) {
    const response = await fetch(`${url}/health`).catch(() => undefined)
    if (response?.ok) return
    await Bun.sleep(50)
  }
}

async function untilListed(url: string, key: ClusterKey, count: number): Promise<void> {
  for (;;) {
    const headers = { authorization: `Bearer ${key.secret}` }
    const response = await fetch(`${url}/privatemode/v1/directory`, { headers })
    const { workers } = (await response.json()) as { workers?: unknown[] }
    if (workers?.length === count) return
    await Bun.sleep(50)
  }
}

function gatewayArgs(port: number, databaseUrl: string): string[] {
  return [
    ['--port', String(port)],
    ['--databaseUrl', databaseUrl],
    tokenArgs,
    ['--leaseSeconds', '3'],
    ['--usageGraceMs', '1500'],
    ['--logLevel', 'error'],
  ].flat()
}

function startChild(script: string, args: string[], env: Record<string, string> = {}): Child {
  const spawn = () =>
    Bun.spawn([process.execPath, `${import.meta.dir}/../${script}`, ...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, ...env },
    })
  let child = spawn()
  return {
    async kill() {
      child.kill('SIGKILL')
      await child.exited
    },
    restart() {
      child = spawn()
    },
  }
}
