/** A name server and TLS servers that record all requests. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect } from 'node:net'
import { createServer } from 'node:tls'

export type Resolver = { readonly asked: string[]; stop(): void }
export type TlsFront = { readonly accepted: () => number; stop(): void }

/** Answers A for the names it has and nothing else; every question is written down. */
export async function startResolver(
  address: string,
  names: Readonly<Record<string, string>>,
): Promise<Resolver> {
  const asked: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (query, from) => {
    const { name, type, end } = readQuestion(query)
    asked.push(name)
    const known = names[name]
    socket.send(
      formatAnswer(query.subarray(0, end), type === 1 ? known : undefined, !known),
      from.port,
      from.address,
    )
  })
  socket.bind(53, address)
  await once(socket, 'listening')
  return { asked, stop: () => socket.close() }
}

/** TLS on one side, a plain server of a test on the other. */
export async function startTlsFront(
  address: string,
  tls: { readonly certPem: string; readonly keyPem: string },
  upstream: string,
): Promise<TlsFront> {
  let accepted = 0
  const { hostname, port } = new URL(upstream)
  const server = createServer({ cert: tls.certPem, key: tls.keyPem }, (client) => {
    const inward = connect(Number(port), hostname)
    for (const [from, to] of [
      [client, inward],
      [inward, client],
    ] as const) {
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
    }
  })
  server.on('connection', () => {
    accepted++
  })
  server.listen(443, address)
  await once(server, 'listening')
  return { accepted: () => accepted, stop: () => void server.close() }
}

/** RFC 1035, 4.1.2: one question after the 12 bytes of the header. */
function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function formatAnswer(question: Buffer, address: string | undefined, unknown: boolean): Buffer {
  const header = Buffer.from(question)
  header.writeUInt16BE(unknown ? 0x8183 : 0x8180, 2)
  header.writeUInt16BE(address === undefined ? 0 : 1, 6)
  header.writeUInt32BE(0, 8)
  if (address === undefined) return header
  // The name of the question, type A, class IN, a time to live, four bytes.
  const record = Buffer.from([
    0xc0,
    12,
    0,
    1,
    0,
    1,
    0,
    0,
    0,
    60,
    0,
    4,
    ...address.split('.').map(Number),
  ])
  return Buffer.concat([header, record])
}
