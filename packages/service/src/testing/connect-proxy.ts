/** A CONNECT proxy for tests (RFC 9110, 9.3.6): tunnels named hosts to configured local ports. */
import { connect, createServer, type Socket } from 'node:net'

export type ConnectProxy = {
  readonly url: string
  readonly port: number
  /** The requested targets, in order. */
  readonly asked: string[]
  stop(): Promise<void>
}

/** `routes` maps `host:port` to a local port; any other target is refused with 403. */
export async function startConnectProxy(
  routes: Readonly<Record<string, number>>,
): Promise<ConnectProxy> {
  const asked: string[] = []
  const open = new Set<Socket>()
  const server = createServer((client) => {
    open.add(client)
    client.on('error', () => client.destroy())
    client.on('close', () => open.delete(client))
    let head = ''
    const readHead = (chunk: Buffer) => {
      head += chunk.toString('latin1')
      if (!head.includes('\r\n\r\n')) return
      client.off('data', readHead)
      tunnel(client, head)
    }
    client.on('data', readHead)
  })

  function tunnel(client: Socket, head: string): void {
    const target = /^CONNECT (\S+) HTTP\/1\.1\r\n/.exec(head)?.[1] ?? ''
    asked.push(target)
    const port = routes[target]
    if (port === undefined) {
      client.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n')
      return
    }
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      client.pipe(upstream)
      upstream.pipe(client)
    })
    open.add(upstream)
    upstream.on('error', () => client.destroy())
    upstream.on('close', () => {
      open.delete(upstream)
      client.destroy()
    })
    client.on('close', () => upstream.destroy())
  }

  const listening = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', () => listening.resolve())
  await listening.promise
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    asked,
    async stop() {
      for (const socket of open) socket.destroy()
      const closed = Promise.withResolvers<void>()
      server.close(() => closed.resolve())
      await closed.promise
    },
  }
}
