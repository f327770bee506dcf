/** Listens for HTTP(S) over Bun.serve, with limits, clear errors for busy ports and graceful shutdown. */
import { explainListenError, type Tls } from '@privatemode/http'
import type { Server } from 'bun'

export type ListenLimits = {
  /** Largest body the runtime accepts; handlers may refuse earlier and in their dialect (`readBody`). */
  readonly bodyBytes: number
  /** An idle connection is closed after this time; at most 255. */
  readonly idleSeconds: number
  /** Concurrent requests; more get `overloaded`. */
  readonly requests: number
}

export const defaultListenLimits: ListenLimits = {
  bodyBytes: 32 * 1024 * 1024,
  idleSeconds: 120,
  requests: 4096,
}

export type Peer = {
  /** Address of the peer, or `undefined` if it has already disconnected. */
  address(): string | undefined
  /** Changes the idle timeout of this one request; 0 disables it. */
  idle(seconds: number): void
}

export type Handler = (request: Request, peer: Peer) => Response | Promise<Response>

export type ListenOptions = {
  readonly hostname: string
  /** 0 picks a free port; read it from the listener. */
  readonly port: number
  readonly tls?: Tls | undefined
  readonly handler: Handler
  readonly limits?: Partial<ListenLimits>
  /** Answers requests above the concurrency limit. */
  readonly overloaded?: (request: Request) => Response
  /** Receives errors that a handler did not catch; the client sees a bare 500. */
  readonly onError?: (error: unknown) => void
}

export type Listener = {
  readonly hostname: string
  readonly port: number
  /** `http://127.0.0.1:8080`, without a trailing slash. */
  readonly url: string
  pendingRequests(): number
  /** Stops accepting, lets running requests end, and closes the rest after `graceMs`. */
  stop(options?: { readonly graceMs?: number }): Promise<{ readonly cut: number }>
}

export function listen(options: ListenOptions): Listener {
  const limits = { ...defaultListenLimits, ...options.limits }
  const server = serve(options, limits)
  const port = server.port ?? options.port
  return {
    hostname: options.hostname,
    port,
    url: `${options.tls === undefined ? 'http' : 'https'}://${urlHost(options.hostname)}:${port}`,
    pendingRequests: () => server.pendingRequests,
    stop: (stopOptions) => stopServer(server, stopOptions?.graceMs ?? 30_000),
  }
}

function serve(options: ListenOptions, limits: ListenLimits): Server<undefined> {
  const { handler, tls } = options
  try {
    return Bun.serve({
      hostname: options.hostname,
      port: options.port,
      // The runtime cuts off chunked bodies here; `readBody` refuses sooner and explains why.
      maxRequestBodySize: limits.bodyBytes + 1024 * 1024,
      idleTimeout: limits.idleSeconds,
      development: false,
      // `development: false` alone would share a busy port with another program instead of failing.
      reusePort: false,
      ...(tls === undefined ? {} : { tls: { cert: tls.certPem, key: tls.keyPem } }),
      fetch(request, self) {
        if (self.pendingRequests > limits.requests) {
          return options.overloaded?.(request) ?? overloaded()
        }
        return handler(request, {
          address: () => self.requestIP(request)?.address,
          idle: (seconds) => self.timeout(request, seconds),
        })
      },
      error(error) {
        options.onError?.(error)
        const body = { error: { message: 'internal error', code: 'internal_error' } }
        return Response.json(body, { status: 500 })
      },
    })
  } catch (cause) {
    throw explainListenError(cause, options.hostname, options.port, tls !== undefined)
  }
}

function overloaded(): Response {
  const error = { message: 'too many requests at once', code: 'overloaded', retryable: true }
  return Response.json({ error }, { status: 503, headers: { 'retry-after': '1' } })
}

async function stopServer(
  server: Server<undefined>,
  graceMs: number,
): Promise<{ readonly cut: number }> {
  const drained = server.stop(false)
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), graceMs)
  })
  const end = await Promise.race([drained, late])
  clearTimeout(timer)
  if (end !== 'late') return { cut: 0 }
  const cut = server.pendingRequests
  await server.stop(true)
  return { cut }
}

function urlHost(hostname: string): string {
  return hostname.includes(':') ? `[${hostname}]` : hostname
}
