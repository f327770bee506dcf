/** A web proxy on loopback that blocks everything and records the requested hosts. */

export type ClosedNetwork = {
  /** Environment variables that direct programs to it. */
  readonly env: Readonly<Record<string, string>>
  /** The hosts requested since the last call. */
  takeHosts(): string[]
  stop(): void
}

export function startClosedNetwork(): ClosedNetwork {
  const hosts = new Set<string>()
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket, bytes) {
        const [, target = ''] = bytes.toString('latin1').split(' ', 2)
        const host = target.replace(/^https?:\/\//, '').split(/[:/]/)[0]
        if (host) hosts.add(host)
        socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
      },
    },
  })
  const url = `http://127.0.0.1:${server.port}`
  const loopback = '127.0.0.1,localhost,::1'
  return {
    env: {
      ...{ HTTPS_PROXY: url, HTTP_PROXY: url, https_proxy: url, http_proxy: url },
      ...{ NO_PROXY: loopback, no_proxy: loopback, DO_NOT_TRACK: '1' },
    },
    takeHosts() {
      const taken = [...hosts].sort()
      hosts.clear()
      return taken
    },
    stop: () => server.stop(true),
  }
}
