/** Attacks of one message each: what is sent, and which answers are correct. */
import type { Target, TargetName } from './target.ts'

export type OnceTrick = {
  readonly group: 'heads' | 'smuggling' | 'paths' | 'JSON' | 'encodings'
  readonly name: string
  /** The bytes, in Latin-1 where they are text. */
  readonly bytes: (target: Target) => string | Uint8Array
  /** A gateway that serves the portal answers unknown paths with its page, as 200. */
  readonly statuses: readonly number[]
  readonly against?: readonly TargetName[]
}

/** Part of everything an attacker tries to smuggle in; it must never reach a model. */
export const smuggled = 'smuggled-words-5d1f'

const innerBody = JSON.stringify({
  model: 'scripted',
  messages: [{ role: 'user', content: smuggled }],
})
const inner = (target: Target) =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n${target.auth}content-type: application/json\r\ncontent-length: ${innerBody.length}\r\n\r\n${innerBody}`

/** A POST with these header lines and this body, byte for byte. */
const post = (target: Target, lines: string, body: string | Uint8Array, path = target.jsonPath) =>
  Buffer.concat([
    Buffer.from(
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${target.auth}${lines}\r\n`,
      'latin1',
    ),
    typeof body === 'string' ? Buffer.from(body, 'latin1') : body,
  ])

const json = (target: Target, text: string | Uint8Array, more = '', path = target.jsonPath) => {
  const body = typeof text === 'string' ? Buffer.from(text, 'latin1') : text
  return post(target, `content-length: ${body.length}\r\n${more}`, body, path)
}

const head = (name: string, text: string | ((t: Target) => string), ...statuses: number[]) =>
  ({
    group: 'heads',
    name,
    bytes: (target) => (typeof text === 'string' ? text : text(target)),
    statuses,
  }) satisfies OnceTrick

/** A header block whose body another parser would end elsewhere; a complete request follows. */
const smuggle = (name: string, lines: string, body: string, ...statuses: number[]): OnceTrick => ({
  group: 'smuggling',
  name,
  bytes: (target) => post(target, lines, body + inner(target)),
  statuses,
})

const path = (name: string, target: string, ...statuses: number[]): OnceTrick => ({
  group: 'paths',
  name,
  bytes: ({ auth }) => `GET ${target} HTTP/1.1\r\nhost: localhost\r\n${auth}\r\n`,
  statuses,
})

const clients = ['proxy', 'proxyless'] as const
const content = (name: string, body: string | Uint8Array, ...statuses: number[]): OnceTrick => ({
  group: 'JSON',
  name,
  bytes: (target) => json(target, body),
  statuses,
  against: clients,
})
const encoding = (
  name: string,
  said: string,
  body: () => string | Uint8Array,
  ...statuses: number[]
): OnceTrick => ({
  group: 'encodings',
  name,
  bytes: (target) => json(target, body(), `content-encoding: ${said}\r\n`),
  statuses,
  against: clients,
})

const host = 'host: localhost\r\n'
const chatWith = (field: string) =>
  `{"model":"scripted","messages":[{"role":"user","content":"hi"}],${field}}`
const megabytes = (count: number) => count * 1024 * 1024
const keys = (count: number) => Array.from({ length: count }, (_, i) => `"k${i}":0`).join()
const empty = '0\r\n\r\n'
const askWith = (auth: string, lines: string) =>
  `GET /v1/chat/completions HTTP/1.1\r\n${host}${auth}${lines}\r\n`
const websocket =
  'connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
const h2c =
  'connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n'
const traces = `traceparent: ${'0'.repeat(4096)}\r\ntracestate: ${'a'.repeat(4096)}\r\nbaggage: ${'b'.repeat(4096)}\r\n`

export const onceTricks: readonly OnceTrick[] = [
  head(
    'one header line of 64 KiB',
    `GET / HTTP/1.1\r\n${host}x: ${'y'.repeat(65_536)}\r\n\r\n`,
    431,
  ),
  head(
    'a thousand header lines',
    `GET / HTTP/1.1\r\n${host}${'a: b\r\n'.repeat(1000)}${Array.from({ length: 80 }, (_, i) => `x${i}: y\r\n`).join('')}\r\n`,
    431,
  ),
  head('a header line without a colon', `GET /health HTTP/1.1\r\n${host}nothing\r\n\r\n`, 400),
  head('a folded header line', `GET /health HTTP/1.1\r\n${host}a: b\r\n c\r\n\r\n`, 400),
  head('NUL in a header', `GET /health HTTP/1.1\r\n${host}a: b\0c\r\n\r\n`, 400),
  head('a bare CR in a header', `GET /health HTTP/1.1\r\n${host}a: b\rc: d\r\n\r\n`, 400),
  head('no host', 'GET /health HTTP/1.1\r\n\r\n', 400),
  head('two hosts', `GET /health HTTP/1.1\r\n${host}host: other\r\n\r\n`, 400),
  head(
    'two keys',
    ({ auth }) =>
      `GET /v1/models HTTP/1.1\r\n${host}${auth}${auth || 'authorization: a\r\nauthorization: b\r\n'}\r\n`,
    400,
  ),
  head('the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 505),
  head('a request line of words', 'hello there, how are you\r\n\r\n', 400),
  head('an unknown expectation', `POST /health HTTP/1.1\r\n${host}expect: magic\r\n\r\n`, 417),
  head('an upgrade to a websocket', ({ auth }) => askWith(auth, websocket), 404, 405),
  head('an upgrade to HTTP/2', ({ auth }) => askWith(auth, h2c), 404, 405),
  head('traces of 12 KiB', ({ auth }) => askWith(auth, traces), 404, 405),

  smuggle('a length and chunks', 'content-length: 4\r\ntransfer-encoding: chunked\r\n', empty, 400),
  smuggle('chunks and a length', `transfer-encoding: chunked\r\ncontent-length: 4\r\n`, empty, 400),
  smuggle('transfer-encoding: xchunked', 'transfer-encoding: xchunked\r\n', empty, 400, 501),
  smuggle(
    'transfer-encoding: chunked, identity',
    'transfer-encoding: chunked, identity\r\n',
    empty,
    400,
    501,
  ),
  smuggle(
    'transfer-encoding: identity, chunked',
    'transfer-encoding: identity, chunked\r\n',
    empty,
    400,
    501,
  ),
  smuggle('a blank before the colon', 'transfer-encoding : chunked\r\n', empty, 400),
  smuggle('a vertical tab before the value', 'transfer-encoding:\vchunked\r\n', empty, 400),
  smuggle(
    'two transfer-encodings',
    'transfer-encoding: chunked\r\ntransfer-encoding: x\r\n',
    empty,
    400,
  ),
  smuggle('two lengths that differ', 'content-length: 0\r\ncontent-length: 44\r\n', '', 400),
  smuggle('two lengths that agree', 'content-length: 0\r\ncontent-length: 0\r\n', '', 400),
  smuggle('a list of lengths', 'content-length: 0, 0\r\n', '', 400),
  smuggle('a length with a sign', 'content-length: +0\r\n', '', 400),
  smuggle('a negative length', 'content-length: -1\r\n', '', 400),
  smuggle('a length in hex', 'content-length: 0x0\r\n', '', 400),
  smuggle('a length of 30 digits', `content-length: ${'9'.repeat(30)}\r\n`, '', 400),
  smuggle('line feeds alone', 'a: b\ntransfer-encoding: chunked\n', empty, 400),
  smuggle('a chunk extension', 'transfer-encoding: chunked\r\n', `0;a=b\r\n\r\n`, 400),
  smuggle('a trailer', 'transfer-encoding: chunked\r\n', '0\r\nx: y\r\n\r\n', 400),
  smuggle(
    'a chunk size that overflows',
    'transfer-encoding: chunked\r\n',
    '100000000000000000\r\n',
    400,
  ),
  smuggle('a chunk ended by a line feed', 'transfer-encoding: chunked\r\n', '0\n\n', 400),
  {
    ...smuggle('chunks in HTTP/1.0', 'transfer-encoding: chunked\r\n', empty, 400),
    bytes: (target) =>
      `POST ${target.jsonPath} HTTP/1.0\r\n${host}transfer-encoding: chunked\r\n\r\n${empty}${inner(target)}`,
  },

  path('two slashes', '//v1/models', 404),
  path('two slashes inside', '/v1//models', 404),
  path('a dot segment', '/v1/./models', 404),
  path('dots up', '/v1/../v1/models', 404),
  path('dots up, encoded', '/v1/%2e%2e/v1/models', 404),
  path('an encoded letter', '/%76%31/models', 404),
  path('an encoded slash', '/v1%2fmodels', 404),
  path('an encoded NUL', '/v1/models%00', 404),
  path('NUL itself', '/v1/models\0', 400),
  path('a backslash', '/v1\\models', 404),
  path('a fragment', '/v1/models#x', 400),
  path('the absolute form', 'http://localhost/health', 400),
  path('the absolute form of elsewhere', 'http://169.254.169.254/latest', 400),
  path('the form of CONNECT', 'localhost:443', 400),
  path('out of the log, by dots', '/privatemode/v1/log/../../api-key', 404),
  path('out of the log, encoded', '/privatemode/v1/log/..%2f..%2fapi-key', 404),
  path('out of the pages, by dots', '/../../../../etc/passwd', 404),
  path('out of the pages, encoded', '/..%2f..%2f..%2f..%2fetc%2fpasswd', 404),
  path('out of the pages, encoded twice', '/%252e%252e%252fetc%252fpasswd', 404),
  path('a path of 9000 letters', `/${'a'.repeat(9000)}`, 400),

  content('100,000 brackets deep', chatWith(`"x":${'['.repeat(100_000)}`), 400),
  content('100,000 braces deep', chatWith(`"x":${'{"a":'.repeat(100_000)}`), 400),
  content('100,000 keys', `{${keys(100_000)}}`, 400),
  content('200,000 keys in a message', chatWith(`"metadata":{${keys(200_000)}}`), 200, 400),
  content('a field twice', chatWith('"model":"other"'), 400),
  content('a field twice, escaped', chatWith('"mod\\u0065l":"other"'), 400),
  content('__proto__', chatWith('"__proto__":{"model":"other"}'), 200, 400),
  content('a number of 100,000 digits', chatWith(`"max_tokens":${'9'.repeat(100_000)}`), 400),
  content('1e999 as a count', chatWith('"max_tokens":1e999'), 400),
  content('2^53 + 1 as a count', chatWith('"max_tokens":9007199254740993'), 200, 400),
  content('-1 as a count', chatWith('"max_tokens":-1'), 400),
  content('NaN', chatWith('"temperature":NaN'), 400),
  content('a lone surrogate', chatWith('"user":"\\ud800"'), 200, 400),
  content(
    'invalid UTF-8 in a prompt',
    '{"model":"scripted","messages":[{"role":"user","content":"\xff\xfe"}]}',
    400,
  ),
  content('an overlong encoding', '{"model":"\xc0\xafscripted","messages":[]}', 400),
  content('NUL bytes', '\0'.repeat(1000), 400),
  content('UTF-16', Buffer.from('\ufeff{"model":"scripted"}', 'utf16le'), 400),
  content('half a body of JSON', '{"model":"scripted","messages":[{"role":"user"', 400),
  content('33 MiB of blanks', ' '.repeat(megabytes(33)), 413),

  encoding(
    'gzip, 1000 times larger inside',
    'gzip',
    () => Bun.gzipSync(Buffer.alloc(megabytes(100), 0x20)),
    413,
  ),
  encoding('gzip twice', 'gzip, gzip', () => Bun.gzipSync(Bun.gzipSync(Buffer.alloc(1000))), 415),
  encoding(
    'gzip that stops',
    'gzip',
    () => Bun.gzipSync('{"model":"scripted"}').subarray(0, 15),
    400,
  ),
  encoding('deflate', 'deflate', () => Bun.deflateSync('{}'), 415),
  encoding('brotli', 'br', () => '{}', 415),
]
