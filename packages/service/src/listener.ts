/** Listens for HTTP(S) over Bun.serve: limits, a clear word about a busy port, a stop that drains. */
import type { Server } from 'bun'
import { explainListenError } from './listen-error.ts'
import { preferNewestListener } from './newest-listener.ts'
import { ServiceError } from './service-error.ts'

export type Tls = { readonly certPem: string; readonly keyPem: string }

export type ListenLimits = {
  /** Largest body the runtime takes in at all; handlers may refuse earlier and in their dialect (`readBody`). */
  readonly bodyBytes: number
  /** A connection without traffic is closed after this; at most 255. */
  readonly idleSeconds: number
  /** Requests answered at once; more get `overloaded`. */
  readonly requests: number
}

export const defaultListenLimits: ListenLimits = {
  bodyBytes: 32 * 1024 * 1024,
  idleSeconds: 120,
  requests: 4096,
}

export type Peer = {
  /** Address of the other end, or `undefined` when it is gone already. */
  address(): string | undefined
  /** Changes the idle time of this one request; 0 lets it be silent for ever. */
  idle(seconds: number): void
}

export type Handler = (request: Request, peer: Peer) => Response | Promise<Response>

export type ListenOptions = {
  readonly hostname: string
  /** 0 takes a free port; read it from the listener. */
  readonly port: number
  readonly tls?: Tls | undefined
  readonly handler: Handler
  readonly limits?: Partial<ListenLimits>
  /** Answers a request above the limit of simultaneous ones. */
  readonly overloaded?: (request: Request) => Response
  /** Told of an error a handler let through; the client sees a bare 500. */
  readonly onError?: (error: unknown) => void
  /** How long clients have to move to the new listener when the certificate is replaced. */
  readonly handoverMs?: number
}

export type Listener = {
  readonly hostname: string
  readonly port: number
  /** `http://127.0.0.1:8080`, without a slash at the end. */
  readonly url: string
  pendingRequests(): number
  /** Serves new connections with another certificate; those that are open move over as they are answered. */
  replaceTls(tls: Tls): Promise<void>
  /** Stops accepting, lets running requests end, and cuts what is left after `graceMs`. */
  stop(options?: { readonly graceMs?: number }): Promise<{ readonly cut: number }>
}

/** One Bun server; a listener has another one after each replaced certificate. */
type Generation = { readonly server: Server<undefined>; leaving: boolean }

export function listen(options: ListenOptions): Listener {
  const limits = { ...defaultListenLimits, ...options.limits }
  // A port is shared only between the generations of a TLS listener, and never with another program.
  const shared = options.tls !== undefined
  if (shared && options.port !== 0) probe(options)
  let current = serve(options, limits, options.port, options.tls, shared)
  const port = current.server.port ?? options.port
  const retiring = new Set<Generation>()
  let replacing: Promise<void> = Promise.resolve()
  if (shared) preferNewestListener(port)

  async function replace(tls: Tls): Promise<void> {
    const next = serve(options, limits, port, tls, shared)
    const old = current
    current = next
    retiring.add(old)
    old.leaving = true
    await Bun.sleep(options.handoverMs ?? 2000)
    // Streams in flight may go on for long; only the listening socket must be gone before the next replacement.
    void old.server.stop(false).finally(() => retiring.delete(old))
  }

  return {
    hostname: options.hostname,
    port,
    url: `${options.tls === undefined ? 'http' : 'https'}://${urlHost(options.hostname)}:${port}`,
    pendingRequests: () =>
      [current, ...retiring].reduce((sum, { server }) => sum + server.pendingRequests, 0),
    replaceTls(tls) {
      if (!shared)
        return Promise.reject(new ServiceError('certificate_unusable', 'not serving TLS'))
      replacing = replacing.catch(() => {}).then(() => replace(tls))
      return replacing
    },
    async stop(stopOptions) {
      const graceMs = stopOptions?.graceMs ?? 30_000
      const stopped = [current, ...retiring].map(({ server }) => stopServer(server, graceMs))
      const cuts = await Promise.all(stopped)
      return { cut: cuts.reduce((sum, cut) => sum + cut, 0) }
    },
  }
}

function serve(
  options: ListenOptions,
  limits: ListenLimits,
  port: number,
  tls: Tls | undefined,
  reusePort: boolean,
): Generation {
  const { handler } = options
  try {
    const generation: Generation = {
      leaving: false,
      server: Bun.serve({
        hostname: options.hostname,
        port,
        // Chunked bodies are cut by the runtime here; `readBody` refuses sooner and says why.
        maxRequestBodySize: limits.bodyBytes + 1024 * 1024,
        idleTimeout: limits.idleSeconds,
        development: false,
        // `development: false` alone would share a busy port with another program instead of failing.
        reusePort,
        ...(tls === undefined ? {} : { tls: { cert: tls.certPem, key: tls.keyPem } }),
        fetch(request, self) {
          if (self.pendingRequests > limits.requests) {
            return options.overloaded?.(request) ?? overloaded()
          }
          const answer = handler(request, {
            address: () => self.requestIP(request)?.address,
            idle: (seconds) => self.timeout(request, seconds),
          })
          return generation.leaving ? sayGoodbye(answer) : answer
        },
        error(error) {
          options.onError?.(error)
          const body = { error: { message: 'internal error', code: 'internal_error' } }
          return Response.json(body, { status: 500 })
        },
      }),
    }
    return generation
  } catch (cause) {
    throw explainListenError(cause, options.hostname, port, tls !== undefined)
  }
}

/** Fails where another program has the port: with a shared port the runtime would not say so. */
function probe(options: ListenOptions): void {
  try {
    Bun.listen({
      hostname: options.hostname,
      port: options.port,
      exclusive: true,
      socket: { data() {} },
    }).stop(true)
  } catch (cause) {
    throw explainListenError(cause, options.hostname, options.port, false)
  }
}

/** Tells the client to use another connection next time: its next one has the new certificate. */
async function sayGoodbye(answer: Response | Promise<Response>): Promise<Response> {
  const response = await answer
  response.headers.set('connection', 'close')
  return response
}

function overloaded(): Response {
  const error = { message: 'too many requests at once', code: 'overloaded', retryable: true }
  return Response.json({ error }, { status: 503, headers: { 'retry-after': '1' } })
}

/** Drains a server and says how many requests had to be cut. */
async function stopServer(server: Server<undefined>, graceMs: number): Promise<number> {
  const drained = server.stop(false)
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), graceMs)
  })
  const end = await Promise.race([drained, late])
  clearTimeout(timer)
  if (end !== 'late') return 0
  const cut = server.pendingRequests
  await server.stop(true)
  return cut
}

function urlHost(hostname: string): string {
  return hostname.includes(':') ? `[${hostname}]` : hostname
}
