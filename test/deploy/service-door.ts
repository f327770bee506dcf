/** One address in front of gateways that come and go, like a Kubernetes service: connections stay where they began. */
import { connect, createServer } from 'node:net'

export type ServiceDoor = {
  readonly url: string
  /** Where connections go from now on. */
  leadTo(port: number): void
  close(): void
}

export async function openServiceDoor(): Promise<ServiceDoor> {
  let target = 0
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const gateway = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true })
    client.pipe(gateway).pipe(client)
    client.on('error', () => gateway.destroy())
    gateway.on('error', () => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    leadTo: (port) => {
      target = port
    },
    close: () => server.close(),
  }
}
