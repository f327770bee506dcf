/** The proxy's own endpoints: health, readiness, metrics, verification. None of them needs a key. */
import { metricsContentType } from '@privatemode/service'
import type { Report } from '../processes/questions.ts'
import { type Readiness, unknownReadiness } from '../trust/readiness.ts'
import { pageHeaders } from './verification-page.ts'

/** The answer to a request for one of these paths, or `undefined` for any other. */
export type LocalRoutes = (
  method: string,
  path: string,
  host?: string,
) => Response | Promise<Response> | undefined

export type LocalRouteParts = {
  readonly readiness: () => Readiness
  /** The verification in machine-readable form. */
  readonly verification: () => unknown
  /** `host` is the Host header: the address by which the browser reached this proxy. */
  readonly page: (host: string | undefined) => string
  /** Present if metrics are enabled. */
  readonly metrics: (() => string) | undefined
  /** Present if several processes serve: their joint state. */
  readonly joint: (() => Promise<Report>) | undefined
  /** The proxyless endpoint's own deployment manifest, published for transparency. */
  readonly deploymentManifest: string | undefined
}

export function createLocalRoutes(parts: LocalRouteParts): LocalRoutes {
  const { joint, metrics, deploymentManifest } = parts
  const routes = new Map<string, () => Response | Promise<Response>>([
    ['/health', () => json({ status: 'ok' })],
    ['/privatemode/v1/verification', () => json(parts.verification())],
    [
      '/ready',
      async () => {
        const own = parts.readiness()
        // If this process is not ready, neither are all together; it may be draining while the others are
        // not.
        if (!own.ready || joint === undefined) return answerReady(own)
        return answerReady(await joint().then((report) => report.readiness, noAnswer))
      },
    ],
  ])
  if (metrics !== undefined) {
    routes.set('/metrics', async () => {
      const headers = { 'content-type': metricsContentType, ...uncached }
      const text = joint === undefined ? metrics() : (await joint()).metrics
      return new Response(text, { headers })
    })
  }
  if (deploymentManifest !== undefined) {
    routes.set('/privatemode/v1/deployment', () => {
      return new Response(deploymentManifest, { headers: { 'content-type': 'application/json' } })
    })
  }
  return (method, path, host) => {
    if (method !== 'GET' && method !== 'HEAD') return undefined
    // Agents probe with `HEAD /` before they start; the page need not be rendered for that.
    if (path === '/' && method === 'HEAD') return new Response(null)
    if (path === '/') return new Response(parts.page(host), { headers: pageHeaders })
    return routes.get(path)?.()
  }
}

const answerReady = (readiness: Readiness) => json(readiness, readiness.ready ? 200 : 503)

function noAnswer(): Readiness {
  const reason = 'the supervisor does not answer'
  return { ...unknownReadiness, reason }
}

const uncached = { 'cache-control': 'no-store' }

function json(value: unknown, status = 200): Response {
  return Response.json(value, { status, headers: uncached })
}
