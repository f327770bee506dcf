/** Requests as attackers write them: valid ones, damaged with known smuggling tricks. */
export const methods = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH']
const targets = ['/', '/v1/chat/completions', '/x?y=1&z=%20', '/a//b/../c', '/~!$()*+,;=:@']
const bodies = ['', 'a', '{"model":"m"}', 'GET /inner HTTP/1.1\r\nhost: h\r\n\r\n', '0\r\n\r\n']
const fieldLines = [
  'Accept: */*',
  'accept: text/html',
  'Cookie: a=b',
  'cookie: c=d',
  'Connection: close',
  'connection: keep-alive',
  'X-Long: value with spaces\t and tabs',
  'x-empty:',
  'x-latin: \xe4\xf6\xff',
  'Authorization: Bearer x',
  'privatemode-model: m',
  'Expect: 100-continue',
]
/** Fragments that some pair of parsers has read differently. */
const poison = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  ' ',
  '\t',
  ':',
  ';',
  ',',
  '+',
  '-',
  '0',
  '0x',
  '\x0b',
  '\x7f',
  '\x80',
  '\r\n\r\n',
  '\n\n',
  '\r\n ',
  '\r\n\t',
  ' :',
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/2.0',
  '#',
  '\\',
  '%00',
  'Content-Length: 5\r\n',
  'content-length:\t5\r\n',
  'Content-Length : 5\r\n',
  'Content-Length: +5\r\n',
  'Content-Length: 5, 5\r\n',
  'Transfer-Encoding: chunked\r\n',
  'transfer-encoding: Chunked\r\n',
  'Transfer-Encoding: identity\r\n',
  'Transfer-Encoding: gzip, chunked\r\n',
  'Transfer-Encoding: chunked, chunked\r\n',
  'Transfer-Encoding:\x0bchunked\r\n',
  'Host: other\r\n',
  ';ext=1',
  ';ext="\r\n"',
  '0\r\n\r\n',
  '5\r\nabcde\r\n',
  'trailer: t\r\n',
  'ffffffffffffffff\r\n',
] as const

export type Random = () => number

/** Mulberry32: small, seeded, good enough to choose. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** One to three requests on one connection, a third of them undamaged. */
export function makeInput(random: Random): Uint8Array {
  let text = ''
  for (let count = 1 + below(random, 3); count > 0; count--) text += goodRequest(random)
  for (let damages = below(random, 3); damages > 0; damages--) text = damage(text, random)
  return Buffer.from(text, 'latin1')
}

function goodRequest(random: Random): string {
  const lines = [`${pick(random, methods)} ${pick(random, targets)} HTTP/1.1`, 'Host: h']
  for (let count = below(random, 4); count > 0; count--) lines.push(pick(random, fieldLines))
  const body = pick(random, bodies)
  if (random() < 0.5)
    return `${[...lines, `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n${body}`
  const chunks = body === '' ? '' : `${body.length.toString(16)}\r\n${body}\r\n`
  return `${[...lines, 'Transfer-Encoding: chunked'].join('\r\n')}\r\n\r\n${chunks}0\r\n\r\n`
}

function damage(text: string, random: Random): string {
  const at = below(random, text.length + 1)
  const length = below(random, 8)
  switch (below(random, 5)) {
    case 0:
      return text.slice(0, at) + pick(random, poison) + text.slice(at)
    case 1:
      return text.slice(0, at) + text.slice(at + length)
    case 2:
      return text.slice(0, at) + pick(random, poison) + text.slice(at + length)
    case 3: {
      // Inserts a whole line at a line start.
      const line = text.indexOf('\r\n', at) + 2
      return text.slice(0, line) + pick(random, poison) + text.slice(line)
    }
    default:
      return text.slice(0, at) + String.fromCharCode(below(random, 256)) + text.slice(at + 1)
  }
}

const below = (random: Random, limit: number) => Math.floor(random() * limit)

function pick<T>(random: Random, choices: readonly T[]): T {
  return choices[below(random, choices.length)] as T
}
