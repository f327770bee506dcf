/** Outbound connections: the CA bundle of SSL_CERT_FILE, https_proxy with CONNECT, no_proxy, and errors that say the remedy. */
import { type PoolLimits, UpstreamPool } from '@privatemode/http'
import { explainOutboundError } from './outbound-error.ts'
import { chooseProxy } from './proxy-choice.ts'
import { readNamedFile } from './read-named-file.ts'
import { ServiceError } from './service-error.ts'

export type OutboundOptions = {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Authorities for these connections alone, instead of those of SSL_CERT_FILE and of the system. */
  readonly ca?: CaBundle | undefined
  /** A connection on which nothing moves for this long fails; 0 waits for ever. */
  readonly idleTimeoutMs?: number
  /** Idle connections kept for reuse. */
  readonly idleSockets?: number
}

/** A file of PEM certificates, and the setting that named it. */
export type CaBundle = { readonly path: string; readonly setting: string }

export type OutboundFetch = (url: string | URL, init?: RequestInit) => Promise<Response>

export type Outbound = {
  /** `fetch` that follows no redirect: where a request goes is ours to decide, not the answer's. */
  readonly fetch: OutboundFetch
  /** Plain sockets to servers, under the same rules: for the hot path of a program. */
  openPool(limits: PoolLimits): UpstreamPool
  close(): void
}

const rememberedOrigins = 64

/** Makes the one way out of a program; throws when the environment asks for what cannot be done. */
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
        // Connections can die without a word, and then all that rest are dead alike: without this,
        // each would cost another call its whole patience. Those in use are not touched.
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

/** Everything up to the path; a URL need not be parsed for that. */
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
      `${setting} names ${path}, which has no PEM certificate; give a bundle in PEM form`,
    )
  }
  return text
}
