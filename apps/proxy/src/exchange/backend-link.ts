/** The connections to the backend that carry sealed requests. */
import { emptyRange, type UpstreamConnection, type UpstreamMessage } from '@privatemode/http'
import { fleetPaths } from '@privatemode/protocol/fleet'
import type { SealedCall } from '@privatemode/sdk'
import { explainOutboundError, type Outbound } from '@privatemode/service'

export type BackendLink = {
  /**
   * A free connection, synchronously if one is idle; rejects with a `ServiceError` that names the
   * remedy.
   */
  take(): UpstreamConnection | Promise<UpstreamConnection>
  close(): void
}

/**
 * Only for sealed requests: directory, attestation and manifest go through `outbound.fetch`, each
 * with the time limit of its caller in the SDK.
 */
const limits = {
  connectTimeoutMs: 10_000,
  // As many as there can be clients: each one over the limit would be reopened for every request.
  idle: 8192,
  idleMs: 60_000,
  // For connections in general; answers that have begun have a tighter limit (`answer-timeouts.ts`).
  silentMs: 600_000,
}

export function openBackendLink(
  apiUrl: string,
  outbound: Outbound,
  env: Readonly<Record<string, string | undefined>>,
): BackendLink {
  const pool = outbound.openPool(limits)
  const { origin } = new URL(apiUrl)
  const explain = async (error: unknown) => {
    throw await explainOutboundError(error, new URL(origin), env)
  }
  return {
    take() {
      const connection = pool.take(origin)
      return connection instanceof Promise ? connection.catch(explain) : connection
    },
    close: () => pool.close(),
  }
}

/** Formats the request for a sealed call; the constant part of the head is made once per backend. */
export function createMessageFormat(apiUrl: string): (sealed: SealedCall) => UpstreamMessage {
  const url = new URL(apiUrl)
  const path = url.pathname.replace(/\/+$/, '') + fleetPaths.sealed
  const start = `POST ${path} HTTP/1.1\r\nhost: ${url.host}\r\n`
  return ({ headers, request }) => {
    const { lengthBytes, first } = request
    let head = `${start}content-length: ${lengthBytes}\r\n`
    let values = ''
    for (const name in headers) {
      const value = headers[name] ?? ''
      values += value
      head += `${name}: ${value}\r\n`
    }
    // Model names and keys were checked before; a line break here would be a second request.
    if (!/^[\x20-\x7e]*$/.test(values)) throw new Error('a header contains a forbidden character')
    return { head: `${head}\r\n`, body: emptyRange, pieces: first, lengthBytes }
  }
}
