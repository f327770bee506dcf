/** Sits between a worker and its gateway, to learn the key that relays are signed with and when all usage is booked. */
import { registryPaths } from '@privatemode/protocol/fleet'

export type GatewayTap = {
  readonly url: string
  /** Base64; undefined until the worker has registered. */
  relayKey(): string | undefined
  /** Resolves when the gateway has acknowledged all usage of requests that are over. */
  untilBooked(): Promise<void>
}

/** Longer than a worker gathers usage before it reports. */
const usualQuietMs = 600
const bookedWithinMs = 20_000

/** It lives as long as the process: the worker renews its lease through it. */
export function tapGateway(gatewayUrl: string, quietMs = usualQuietMs): GatewayTap {
  let relayKey: string | undefined
  let reports = 0
  let bookedMs = 0
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url)
      const body = await request.text()
      if (request.method === 'PUT') {
        relayKey = (JSON.parse(body) as { relay_key?: string }).relay_key
      }
      const { method, headers } = request
      const init = body === '' ? { method, headers } : { method, headers, body }
      if (pathname !== registryPaths.usage) return fetch(gatewayUrl + pathname, init)
      reports++
      try {
        return await fetch(gatewayUrl + pathname, init)
      } finally {
        reports--
        bookedMs = performance.now()
      }
    },
  })
  server.unref()
  return {
    url: `http://127.0.0.1:${server.port}`,
    relayKey: () => relayKey,
    async untilBooked() {
      const startMs = performance.now()
      while (reports > 0 || performance.now() - Math.max(startMs, bookedMs) < quietMs) {
        if (performance.now() - startMs > bookedWithinMs)
          throw new Error(`usage was not booked within ${bookedWithinMs / 1000} s`)
        await Bun.sleep(20)
      }
    },
  }
}
