/** Outbound connections: SSL_CERT_FILE, https_proxy with CONNECT, no_proxy, and errors with a remedy. */
import { type PoolLimits, UpstreamPool } from '@privatemode/http'
import { explainOutboundError } from './outbound-error.ts'
import { chooseProxy } from './proxy-choice.ts'
import { readNamedFile } from './read-named-file.ts'
import { ServiceError } from './service-error.ts'

export type OutboundOptions = {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Certificate authorities for these connections only, instead of SSL_CERT_FILE's and the system's. */
  readonly ca?: CaBundle | undefined
  /** A connection without traffic for this long fails; 0 disables the timeout. */
  readonly idleTimeoutMs?: number
  /** Idle connections kept for reuse. */
  readonly idleSockets?: number
}

/** A file of PEM certificates, and the setting that names it. */
export type CaBundle = { readonly path: string; readonly setting: string }

export type OutboundFetch = (url: string | URL, init?: RequestInit) => Promise<Response>

export type Outbound = {
  /** `fetch` that follows no redirects: we decide where a request goes, not the answer. */
  readonly fetch: OutboundFetch
  /** Plain sockets to servers, under the same rules, for hot paths. */
  openPool(limits: PoolLimits): UpstreamPool
  close(): void
}

const rememberedOrigins = 64

/** Creates a program's only way to connect out; throws if the environment asks for the impossible. */
export function createOutbound(options: OutboundOptions): Outbound {
  const path = options.env.SSL_CERT_FILE
  const ca = readCaBundle(options.ca ?? (path ? { path, setting: 'SSL_CERT_FILE' } : undefined))
  const keepAlive = { idleTimeout: 60, maxIdleSockets: options.idleSockets ?? 256 }
  const tls = ca === undefined ? {} : { tls: { ca } }
  const direct = new Bun.FetchSession({ ...tls, keepAlive, proxy: false })
  const tunnels = new Map<string, Bun.FetchSession>()
  const byOrigin = new Map<string, Bun.FetchSession>()
  const timeout = options.idleTimeoutMs ?? 300_000

  function sessionFor(origin: string): Bun.FetchSession {
    const known = byOrigin.get(origin)
    if (known !== undefined) return known
    const proxy = chooseProxy(new URL(origin), options.env)
    let session = direct
    if (proxy !== undefined) {
      session =
        tunnels.get(proxy) ??
        new Bun.FetchSession({ ...tls, keepAlive, proxy: { url: proxy, respectNoProxy: false } })
      tunnels.set(proxy, session)
    }
    if (byOrigin.size >= rememberedOrigins) byOrigin.clear()
    byOrigin.set(origin, session)
    return session
  }

  return {
    async fetch(url, init) {
      const target = typeof url === 'string' ? url : url.href
      const session = sessionFor(originOf(target))
      try {
        return await session.fetch(target, { redirect: 'manual', timeout, ...init })
      } catch (error) {
        // Connections can die silently, and then all idle ones are dead, too: without this, each would cost
        // another call its whole timeout. Connections in use are not affected.
        if (error instanceof Error && error.name === 'TimeoutError') session.close()
        throw await explainOutboundError(error, new URL(target), options.env)
      }
    },
    openPool: (limits) =>
      new UpstreamPool({
        limits,
        clock: () => performance.now(),
        caPem: ca,
        chooseProxy: (url) => chooseProxy(url, options.env),
      }),
    close() {
      direct.close()
      for (const session of tunnels.values()) session.close()
    },
  }
}

/** Everything before the path; this does not need a URL parser. */
function originOf(url: string): string {
  const end = url.indexOf('/', url.indexOf('://') + 3)
  return end < 0 ? url : url.slice(0, end)
}

function readCaBundle(bundle: CaBundle | undefined): string | undefined {
  if (bundle === undefined) return undefined
  const { path, setting } = bundle
  const remedy = 'mount the CA bundle there or unset it'
  const text = readNamedFile(setting, path, remedy).toString()
  if (!text.includes('-----BEGIN CERTIFICATE-----')) {
    throw new ServiceError(
      'certificate_unusable',
      `${setting} names ${path}, which has no PEM certificate; provide a bundle in PEM format`,
    )
  }
  return text
}
