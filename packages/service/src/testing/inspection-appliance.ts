/** A TLS inspection appliance for tests: a CONNECT proxy that intercepts TLS with its own authority. */
import { listen } from '../listener.ts'
import type { LocalAuthority } from '../local-authority.ts'
import { startConnectProxy } from './connect-proxy.ts'

export type InspectionAppliance = {
  readonly url: string
  readonly port: number
  readonly asked: string[]
  /** Everything that passed through it in the clear, in both directions: heads and bodies. */
  readonly seen: string[]
  stop(): Promise<void>
}

/** `backends` maps `host:port` to the URL of the real server behind it. */
export async function startInspectionAppliance(
  authority: LocalAuthority,
  backends: Readonly<Record<string, string>>,
): Promise<InspectionAppliance> {
  const seen: string[] = []
  const routes: Record<string, number> = {}
  const inspectors = await Promise.all(
    Object.entries(backends).map(async ([target, backend]) => {
      const tls = authority.issue([target.replace(/:\d+$/, '')])
      const inspector = listen({
        hostname: '127.0.0.1',
        port: 0,
        tls,
        handler: (request) => inspect(request, backend, seen),
      })
      routes[target] = inspector.port
      return inspector
    }),
  )
  const proxy = await startConnectProxy(routes)
  return {
    url: proxy.url,
    port: proxy.port,
    asked: proxy.asked,
    seen,
    async stop() {
      await proxy.stop()
      await Promise.all(inspectors.map((inspector) => inspector.stop({ graceMs: 0 })))
    },
  }
}

async function inspect(request: Request, backend: string, seen: string[]): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const body = await request.arrayBuffer()
  const headers = [...request.headers].map((pair) => pair.join(': '))
  seen.push(`${request.method} ${pathname}`, ...headers, Buffer.from(body).toString('latin1'))
  const answer = await fetch(backend + pathname + search, {
    method: request.method,
    headers: request.headers,
    ...(body.byteLength > 0 ? { body } : {}),
  })
  const bytes = await answer.arrayBuffer()
  seen.push(Buffer.from(bytes).toString('latin1'))
  return new Response(bytes, { status: answer.status, headers: answer.headers })
}
