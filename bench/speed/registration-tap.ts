/** Sits between a worker and its gateway during registration, to learn the key that relays are signed with. */

export type RegistrationTap = {
  readonly url: string
  /** Base64; undefined until the worker has registered. */
  relayKey(): string | undefined
}

/** It lives as long as the process: the worker renews its lease through it. */
export function tapRegistration(gatewayUrl: string): RegistrationTap {
  let relayKey: string | undefined
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
      return fetch(gatewayUrl + pathname, init)
    },
  })
  server.unref()
  return { url: `http://127.0.0.1:${server.port}`, relayKey: () => relayKey }
}
