/** Opens one connection to a server: plain, over a Unix socket, with TLS, or with TLS through a proxy's CONNECT tunnel. */
import type { Socket, SocketHandler } from 'bun'

export type UpstreamTarget = {
  /** `https://api.example:8443`, where anything after the port is ignored, or `unix:/path/of/socket`. */
  readonly url: URL
  /** Certificate authorities to trust instead of the runtime's. */
  readonly caPem: string | undefined
  /** An HTTP proxy that opens a tunnel to the server (RFC 9110, 9.3.6). */
  readonly proxy: URL | undefined
  readonly timeoutMs: number
}

export type UpstreamHandlers<Data> = Pick<SocketHandler<Data>, 'data' | 'drain' | 'close'>

const longestTunnelHead = 16 * 1024
/**
 * TCP keep-alive probes start after this much silence; ten seconds without a response end the
 * connection.
 */
const keepAliveMs = 15_000

/** Resolves when a request can be sent; by then, the certificate has been verified. */
export function openUpstream<Data>(
  target: UpstreamTarget,
  handlers: UpstreamHandlers<Data>,
): Promise<Socket<Data>> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket<Data>>()
  let opened: Socket<Data> | undefined
  const timer = setTimeout(() => fail(timeoutError()), target.timeoutMs)

  function fail(error: unknown): void {
    clearTimeout(timer)
    reject(error)
    opened?.terminate()
  }

  function ready(socket: Socket<Data>): void {
    clearTimeout(timer)
    // Otherwise a server that vanished silently would be waited for as long as a slow one.
    opened?.setKeepAlive(true, keepAliveMs)
    resolve(socket)
  }

  const judge = (socket: Socket<Data>, trusted: boolean, problem: Error | null): void => {
    // The runtime has checked the certificate against the authorities and the server's name.
    if (trusted && problem === null && socket.authorized) ready(socket)
    else fail(problem ?? codeError('CERT_REJECTED', 'the certificate was not accepted'))
  }

  const shared: SocketHandler<Data> = {
    ...handlers,
    close(socket, error) {
      fail(codeError('ECONNRESET', 'the connection was closed'))
      return handlers.close?.(socket, error)
    },
    error: (_socket, error) => fail(error),
    connectError: (_socket, error) => fail(error),
  }

  const { url, proxy } = target
  const secure = url.protocol === 'https:'
  const tls = { rejectUnauthorized: true, serverName: bareHost(url), ...trust(target.caPem) }
  if (proxy === undefined) {
    const open = (socket: Socket<Data>) => {
      opened = socket
      if (!secure) ready(socket)
    }
    const socket = { ...shared, open, ...(secure ? { handshake: judge } : {}) }
    const connecting =
      url.protocol === 'unix:'
        ? Bun.connect<Data>({ unix: decodeURIComponent(url.pathname), socket })
        : Bun.connect<Data>({
            ...{ hostname: bareHost(url), port: portOf(url), socket },
            ...(secure ? { tls } : {}),
          })
    connecting.catch(fail)
    return promise
  }

  let head = ''
  let tunnelled = false
  Bun.connect<Data>({
    hostname: bareHost(proxy),
    port: portOf(proxy),
    socket: {
      ...shared,
      open(socket) {
        opened = socket
        socket.write(connectRequest(url, proxy))
      },
      data(socket, bytes) {
        if (tunnelled) return // tunnelled data is reported here, too
        head += bytes.toString('latin1')
        if (!head.includes('\r\n\r\n') && head.length < longestTunnelHead) return
        if (!/^HTTP\/1\.[01] 200 /.test(head) || !head.endsWith('\r\n\r\n')) {
          return fail(codeError('ERR_PROXY_TUNNEL', 'the proxy refused the tunnel'))
        }
        tunnelled = true
        const inner = { ...shared, handshake: judge }
        const data = undefined as Data
        const [, secured] = socket.upgradeTLS<Data>({ tls, data, socket: inner })
        opened = secured
      },
      // The connection inside the tunnel has the handlers; this one only carries it.
      drain: () => {},
      close: (socket, error) => (tunnelled ? undefined : shared.close?.(socket, error)),
    },
  }).catch(fail)
  return promise
}

function connectRequest(url: URL, proxy: URL): string {
  const authority = `${url.hostname}:${portOf(url)}`
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
  const authorization =
    credentials === ':'
      ? ''
      : `proxy-authorization: Basic ${Buffer.from(credentials).toString('base64')}\r\n`
  return `CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${authorization}\r\n`
}

const trust = (caPem: string | undefined) => (caPem === undefined ? {} : { ca: caPem })
const bareHost = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1')
const portOf = (url: URL): number => Number(url.port) || (url.protocol === 'https:' ? 443 : 80)

function codeError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}

function timeoutError(): Error {
  return new DOMException('connecting timed out', 'TimeoutError')
}
