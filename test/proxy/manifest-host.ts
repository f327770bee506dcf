/** A manifest host for tests: any static server can be one. */
import { MemoryLog } from '../../packages/attestation/src/testing/memory-log.ts'

export type ManifestHost = {
  readonly port: number
  readonly url: string
  /** What is served; a test may put another in its place. */
  log: MemoryLog
  stop(): Promise<void>
}

export function startManifestHost(hostname = '127.0.0.1'): ManifestHost {
  const server = Bun.serve({
    hostname,
    port: 0,
    fetch(request) {
      const file = host.log.files.get(new URL(request.url).pathname.slice(1))
      return file === undefined ? new Response(null, { status: 404 }) : new Response(file.slice())
    },
  })
  const port = server.port ?? 0
  const host: ManifestHost = {
    port,
    url: `http://${hostname}:${port}`,
    log: new MemoryLog(),
    stop: () => server.stop(true),
  }
  return host
}
