/** A gateway under the attacker's control: it sits in front of the real one and changes anything. */

export type Sealed = { url: string; headers: Record<string, string>; body: Uint8Array<ArrayBuffer> }

/** What the attacker does at each point; anything omitted passes unchanged. */
export type Trick = {
  readonly directory?: (json: Directory) => unknown
  readonly attestation?: (workerId: string, nonce: string) => Promise<Response>
  /** Replaces the real gateway for sealed requests. */
  readonly sealed?: (request: Sealed, forward: Forward) => Promise<Response>
}

export type Directory = {
  workers: { id: string; models: string[]; seal_key_id: string }[]
  models: { id: string }[]
}
export type Forward = (request: Sealed) => Promise<Response>

export type HostileGateway = {
  readonly url: string
  play(trick: Trick): void
  stop(): Promise<void>
}

export function startHostileGateway(gatewayUrl: string): HostileGateway {
  let trick: Trick = {}
  const forward: Forward = ({ url, headers, body }) =>
    fetch(url, { method: 'POST', headers, body, redirect: 'manual' })
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url)
      const headers = Object.fromEntries(request.headers)
      delete headers.host
      delete headers['content-length']
      const target = gatewayUrl + pathname
      if (pathname.endsWith('/sealed')) {
        const body = new Uint8Array(await request.arrayBuffer())
        const sealed = { url: target, headers, body }
        return trick.sealed === undefined ? forward(sealed) : trick.sealed(sealed, forward)
      }
      const asked = /\/workers\/([^/]+)\/attestation$/.exec(pathname)
      if (asked !== null) {
        const { nonce } = (await request.clone().json()) as { nonce: string }
        const played = trick.attestation?.(asked[1] ?? '', nonce)
        if (played !== undefined) return played
      }
      const init: RequestInit = { method: request.method, headers }
      if (request.method === 'POST') init.body = await request.arrayBuffer()
      const response = await fetch(target, init)
      if (!pathname.endsWith('/directory') || trick.directory === undefined) return response
      return Response.json(trick.directory((await response.json()) as Directory))
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    play(next) {
      trick = next
    },
    stop: () => server.stop(true),
  }
}

/** The frames of a sealed answer: the clear prelude first, then one entry for each frame. */
export function cutFrames(answer: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
  const frames = [answer.subarray(0, 52)]
  for (let at = 52; at < answer.length; ) {
    const length = new DataView(answer.buffer, answer.byteOffset + at).getUint32(0)
    frames.push(answer.subarray(at, at + 5 + length))
    at += 5 + length
  }
  return frames
}
