/** Parsers of wire data: bodies, events, frames, heads. */
import {
  parseRelayError,
  parseUnsealedError,
  SseDecoder,
  scanBody,
} from '@privatemode/protocol/api'
import { EventCutter } from '../../apps/proxy/src/exchange/event-cutter.ts'
import { ChunkedScanner } from '../../packages/http/src/chunked.ts'
import { parseRequestHead, readHeadText } from '../../packages/http/src/request-head.ts'
import { parseResponseHead } from '../../packages/http/src/response-head.ts'
import type {
  AeadKey,
  CryptoProvider,
} from '../../packages/protocol/src/envelope/crypto-provider.ts'
import { FrameOpener } from '../../packages/protocol/src/envelope/frames.ts'
import { AnswerOpener } from '../../packages/protocol/src/envelope/open-answer.ts'
import { openRequest } from '../../packages/protocol/src/envelope/open-request.ts'
import {
  type AnswerSealer,
  dataRecord,
  endRecord,
  headRecord,
} from '../../packages/protocol/src/envelope/seal-answer.ts'
import { sealRequest } from '../../packages/protocol/src/envelope/seal-request.ts'
import {
  Disagreement,
  type FuzzTarget,
  isTyped,
  json,
  piecesOf,
  requireSame,
  text,
} from './target.ts'

/** No cipher: these targets cover data after a valid tag, as a hostile worker could send it. */
const clear: AeadKey = {
  seal: (_nonce, _aad, parts) => [...parts, new Uint8Array(16)],
  open: (_nonce, _aad, bytes) => bytes.subarray(0, bytes.length - 16),
}
const clearProvider: CryptoProvider = {
  random: (length) => new Uint8Array(length).fill(7),
  sha256: () => new Uint8Array(32),
  expand: () => new Uint8Array(32),
  aeadKey: () => clear,
}
const now = <T>(value: T | Promise<T>): T => {
  if (value instanceof Promise) throw new Error('the clear provider answers at once')
  return value
}
const session = {
  workerId: 'w',
  sealKeyId: new Uint8Array(16).fill(1),
  encapsulation: new Uint8Array(1120),
  secret: new Uint8Array(32),
}
const context = {
  requestId: new Uint8Array(16).fill(2),
  issuedAtMs: 1_700_000_000_000,
  method: 'POST',
  path: '/v1/chat/completions',
  model: 'm',
}
const head = { headers: { accept: '*/*' }, shape: 'default', cache_salt: 's' } as const
const sealed = now(sealRequest(clearProvider, [session], context, head, text('{"model":"m"}')))
const open = (bytes: Uint8Array<ArrayBuffer>) =>
  now(
    openRequest(
      clearProvider,
      () => session.secret,
      () => {},
      bytes,
    ),
  )

function answerBytes(): Uint8Array<ArrayBuffer> {
  const sealer: AnswerSealer = now(open(sealed.bytes).sealAnswer())
  const frames = [
    now(sealer.seal(headRecord({ status: 200, headers: { 'content-type': 'text/plain' } }), false)),
    now(sealer.seal(dataRecord(text('hello')), false, 64)),
    now(sealer.seal(endRecord(text('{}')), true, 64)),
  ]
  return Buffer.concat([sealer.prelude, ...frames]) as Uint8Array<ArrayBuffer>
}

/** What came out of pieces, and how it ended. */
function outcome(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    if (!isTyped(error)) throw error
    return 'refused' // which of two faults is met first may depend on the pieces
  }
}

const chatBody = {
  model: 'm',
  stream: true,
  cache_salt: 'salt',
  messages: [{ role: 'user', content: 'h\u00e9llo "x"' }],
  temperature: -1.5e-3,
}

export const wireTargets: readonly FuzzTarget[] = [
  {
    name: 'request scanner',
    seeds: [json(chatBody), text('{}'), text(' { "model" : null , "a":[{}, [1,"\\"]"]] } ')],
    read(bytes) {
      const scan = scanBody(bytes)
      let parsed: unknown
      try {
        const decoded = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
        parsed = JSON.parse(decoded)
      } catch {
        return // left to the worker, which parses everything
      }
      const { model, stream, cache_salt } = parsed as { [name: string]: unknown }
      requireSame('model', scan.model ?? null, model ?? null)
      requireSame('salt', scan.cacheSalt ?? null, cache_salt ?? null)
      requireSame('stream', scan.stream, stream === true)
    },
  },
  {
    name: 'event decoder',
    seeds: [
      text('event: a\ndata: {"b":1}\n\ndata: x\r\ndata: y\r\n\r\n: c\n\n'),
      text('data: [DONE]\n\n'),
    ],
    read(bytes) {
      const whole = outcome(() => new SseDecoder(4096).push(bytes))
      const decoder = new SseDecoder(4096)
      const pieces = outcome(() => piecesOf(bytes).flatMap((piece) => decoder.push(piece)))
      requireSame('events', whole, pieces)
    },
  },
  {
    name: 'event cutter',
    seeds: [text('data: a\n\ndata: b\n\n'), text('data: a\n'), text('\n\n\n')],
    read(bytes) {
      const cutter = new EventCutter()
      const out = piecesOf(bytes).map((piece) => Buffer.concat([...cutter.push(piece)]))
      for (const part of out) {
        if (part.length > 0 && part.at(-1) !== 0x0a) {
          throw new Disagreement('a part does not end with an event')
        }
      }
      const joined = Buffer.concat([...out, ...cutter.rest()])
      if (!joined.equals(bytes)) throw new Disagreement('bytes were lost or moved')
    },
  },
  {
    name: 'chunked body',
    seeds: [text('3\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n'), text('0\r\n\r\nrest')],
    read(bytes) {
      const follow = (pieces: readonly Uint8Array[]) =>
        outcome(() => {
          const scanner = new ChunkedScanner()
          let payload = ''
          for (const piece of pieces) {
            const end = scanner.scan(piece, 0, (start, stop) => {
              payload += Buffer.from(piece.subarray(start, stop)).toString('hex')
            })
            if (end >= 0) break
          }
          return [payload, scanner.ended]
        })
      requireSame('payload', follow([bytes]), follow(piecesOf(bytes)))
    },
  },
  {
    name: 'head of a request',
    seeds: [
      text('POST /v1/x?y HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nA: b\r\na: c\r\n\r\nhello'),
    ],
    read(bytes) {
      const head = readHeadText(Buffer.from(bytes))
      if (head !== undefined) parseRequestHead(head)
    },
  },
  {
    name: 'head of an answer',
    seeds: [text('HTTP/1.1 200 OK\r\ncontent-type: a\r\ntransfer-encoding: chunked\r\n\r\n')],
    read(bytes) {
      const head = readHeadText(Buffer.from(bytes))
      if (head !== undefined) parseResponseHead(head)
    },
  },
  {
    name: 'frames',
    seeds: [sealed.bytes.slice(-1100), answerBytes().slice(52)],
    read(bytes) {
      const follow = (pieces: readonly Uint8Array<ArrayBuffer>[]) =>
        outcome(() => {
          const opener = new FrameOpener(clear)
          const frames = pieces.flatMap((piece) => now(opener.push(piece)))
          opener.finish()
          return frames.map(({ plaintext, last }) => [Buffer.from(plaintext).toString('hex'), last])
        })
      requireSame('frames', follow([bytes]), follow(piecesOf(bytes)))
    },
  },
  {
    name: 'sealed request',
    seeds: [sealed.bytes],
    read(bytes) {
      const opened = open(bytes)
      if (typeof opened.head.shape !== 'string') throw new Disagreement('a head without a shape')
    },
  },
  {
    name: 'sealed answer',
    seeds: [answerBytes()],
    read(bytes) {
      const follow = (pieces: readonly Uint8Array<ArrayBuffer>[]) =>
        outcome(() => {
          const opener = new AnswerOpener(clearProvider, new Uint8Array(32), new Uint8Array(32), [
            session,
          ])
          const parts = pieces.flatMap((piece) => now(opener.push(piece)))
          opener.finish()
          return parts
        })
      requireSame('parts', follow([bytes]), follow(piecesOf(bytes)))
    },
  },
  {
    name: 'error of a gateway',
    seeds: [
      json({
        error: { message: 'no', type: 't', param: 'p', code: 'overloaded', retryable: true },
      }),
    ],
    read(bytes) {
      const body = new TextDecoder().decode(bytes)
      const status = 400 + ((bytes[0] ?? 0) % 200)
      const { message, code } = parseRelayError(status, body, body.slice(0, 8))
      if (message === '' || typeof code !== 'string') throw new Disagreement('an empty error')
      const unsealed = parseUnsealedError(status, body, body.slice(0, 8))
      const other = parseUnsealedError(
        status,
        JSON.stringify({ error: { code: unsealed.code } }),
        '',
      )
      if (unsealed.message !== other.message && unsealed.code !== 'upstream_error') {
        throw new Disagreement('a text that depends on more than the code')
      }
    },
  },
]
