/** Finds the issuer of a certificate that failed to verify, so that the error can name the appliance. */
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

const limitMs = 2000

/**
 * Returns ` ("Issuer name")`, or an empty string if it cannot be determined in two seconds.
 *
 * The connection made here is not trusted and carries no request: it is opened, inspected and
 * closed.
 */
export async function nameUnknownAuthority(url: URL, proxy: string | undefined): Promise<string> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port || 443)
  const target = { host, port }
  const opened: Socket[] = []
  const giveUp = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => giveUp.resolve(undefined), limitMs)
  try {
    const looking = async (): Promise<string | undefined> => {
      const socket =
        proxy === undefined ? undefined : await openTunnel(new URL(proxy), target, opened)
      return readIssuer(target, socket, opened)
    }
    const issuer = await Promise.race([looking().catch(() => undefined), giveUp.promise])
    return issuer === undefined ? '' : ` ("${issuer}")`
  } finally {
    clearTimeout(timer)
    for (const socket of opened) socket.destroy()
  }
}

type Target = { readonly host: string; readonly port: number }

function readIssuer(
  target: Target,
  socket: Socket | undefined,
  opened: Socket[],
): Promise<string | undefined> {
  const found = Promise.withResolvers<string | undefined>()
  const session = connectTls({
    ...(socket === undefined ? target : { socket }),
    servername: /^[\d.]+$|:/.test(target.host) ? '' : target.host,
    rejectUnauthorized: false,
  })
  opened.push(session)
  session.once('error', () => found.resolve(undefined))
  session.once('secureConnect', () => {
    const issuer = session.getPeerCertificate().issuer as Record<string, unknown> | undefined
    const name = issuer?.CN ?? issuer?.O
    // The appliance chooses this name: it is displayed, bounded and never acted on.
    found.resolve(
      typeof name === 'string' ? name.replace(/[^\x20-\x7e]/g, '?').slice(0, 80) : undefined,
    )
  })
  return found.promise
}

function openTunnel(proxy: URL, target: Target, opened: Socket[]): Promise<Socket> {
  const ready = Promise.withResolvers<Socket>()
  const socket = connectTcp(Number(proxy.port || 80), proxy.hostname)
  opened.push(socket)
  const authority = `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`
  socket.once('error', ready.reject)
  socket.once('connect', () => {
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n\r\n`)
  })
  socket.once('data', () => ready.resolve(socket))
  return ready.promise
}
