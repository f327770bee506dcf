/**
 * Reads requests as node:http does, for comparison. Runs under Node: inputs come on stdin, each
 * with its length in four bytes before it; for each a line of JSON goes to stdout.
 */
import { createServer } from 'node:http'
import { Duplex } from 'node:stream'

/** Requests that came whole over one connection. */
function readWithNode(bytes) {
  return new Promise((resolve) => {
    const requests = []
    const server = createServer({ keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 })
    const take = (request, response) => {
      const parts = []
      request.on('data', (part) => parts.push(part))
      request.on('end', () => {
        const fields = []
        for (let at = 0; at < request.rawHeaders.length; at += 2) {
          fields.push([request.rawHeaders[at].toLowerCase(), request.rawHeaders[at + 1]])
        }
        const body = Buffer.concat(parts).toString('latin1')
        requests.push({ method: request.method, target: request.url, fields, body })
      })
      response.end()
    }
    server.on('request', take)
    server.on('checkContinue', take)
    // Nothing is read after an error; what was whole before it is still handed on.
    server.on('clientError', () => undefined)
    const socket = new Duplex({
      read: () => undefined,
      write: (_chunk, _encoding, done) => done(),
    })
    socket.on('error', () => undefined)
    server.emit('connection', socket)
    socket.push(bytes)
    // Streams hand things on with ticks of their own; a few rounds of the loop are enough.
    let rounds = 0
    const wait = () => {
      if (++rounds < 6) {
        setImmediate(wait)
        return
      }
      socket.destroy()
      resolve(requests)
    }
    setImmediate(wait)
  })
}

let pending = Buffer.alloc(0)
for await (const chunk of process.stdin) {
  pending = Buffer.concat([pending, chunk])
  const inputs = []
  while (pending.length >= 4 && pending.length >= 4 + pending.readUInt32BE(0)) {
    const end = 4 + pending.readUInt32BE(0)
    inputs.push(pending.subarray(4, end))
    pending = pending.subarray(end)
  }
  const answers = await Promise.all(inputs.map((bytes) => readWithNode(Buffer.from(bytes))))
  for (const requests of answers) process.stdout.write(`${JSON.stringify(requests)}\n`)
}
