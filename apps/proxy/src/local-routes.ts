/** The proxy's own pages: health, readiness, metrics, verification. None of them needs a key. */
import { metricsContentType } from '@privatemode/service'
import type { ProxyMetrics } from './proxy-metrics.ts'
import type { Readiness } from './readiness.ts'
import { pageHeaders } from './verification-page.ts'

/** The answer to a request for one of these paths, or `undefined` for any other. */
export type LocalRoutes = (method: string, path: string) => Response | undefined

export type LocalRouteParts = {
  readonly readiness: () => Readiness
  /** The verification as a program reads it. */
  readonly verification: () => unknown
  readonly page: () => string
  /** Present when metrics are switched on. */
  readonly metrics: ProxyMetrics | undefined
  /** The proxyless endpoint's own deployment manifest, published for transparency. */
  readonly deploymentManifest: string | undefined
}

export function createLocalRoutes(parts: LocalRouteParts): LocalRoutes {
  const routes = new Map<string, () => Response>([
    ['/', () => new Response(parts.page(), { headers: pageHeaders })],
    ['/health', () => json({ status: 'ok' })],
    ['/privatemode/v1/verification', () => json(parts.verification())],
    [
      '/ready',
      () => {
        const readiness = parts.readiness()
        return json(readiness, readiness.ready ? 200 : 503)
      },
    ],
  ])
  const { metrics, deploymentManifest } = parts
  if (metrics !== undefined) {
    routes.set('/metrics', () => {
      const headers = { 'content-type': metricsContentType, ...uncached }
      return new Response(metrics.registry.format(), { headers })
    })
  }
  if (deploymentManifest !== undefined) {
    routes.set('/privatemode/v1/deployment', () => {
      return new Response(deploymentManifest, { headers: { 'content-type': 'application/json' } })
    })
  }
  return (method, path) => {
    if (method !== 'GET' && method !== 'HEAD') return undefined
    // Agents knock with `HEAD /` before they start; the page need not be made for that.
    if (path === '/' && method === 'HEAD') return new Response(null)
    return routes.get(path)?.()
  }
}

const uncached = { 'cache-control': 'no-store' }

function json(value: unknown, status = 200): Response {
  return Response.json(value, { status, headers: uncached })
}
