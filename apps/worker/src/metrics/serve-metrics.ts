/** Serves metrics on their own port, so that a scraper can reach nothing else of the worker. */
import { type Listener, listen, metricsContentType } from '@privatemode/service'
import type { Settings } from '../settings.ts'
import type { WorkerMetrics } from './worker-metrics.ts'

export function serveMetrics(
  { host, metricsPort }: Pick<Settings, 'host' | 'metricsPort'>,
  metrics: Pick<WorkerMetrics, 'format'>,
): Listener | undefined {
  if (metricsPort === undefined) return undefined
  return listen({
    hostname: host,
    port: metricsPort,
    handler: ({ method, url }) =>
      method === 'GET' && new URL(url).pathname === '/metrics'
        ? new Response(metrics.format(), { headers: { 'content-type': metricsContentType } })
        : new Response(null, { status: 404 }),
    limits: { bodyBytes: 0, requests: 16, idleSeconds: 60 },
  })
}
