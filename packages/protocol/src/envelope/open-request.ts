/** The worker's side of a request: find its own key, unwrap, open every frame to the end. */
import { decodeText, formatHex } from './byte-strings.ts'
import {
  type AeadKey,
  andThen,
  type Bytes,
  type CryptoProvider,
  type Eventually,
} from './crypto-provider.ts'
import { EnvelopeError } from './envelope-error.ts'
import {
  endOfFrame,
  FrameOpener,
  freeFrame,
  leastRequestFrame,
  type OpenedFrame,
} from './frames.ts'
import { requestFrameKey, unwrapRequestKey } from './key-schedule.ts'
import {
  maxPreludeLength,
  type Prelude,
  parsePrelude,
  preludeDigest,
  type RequestContext,
  requestBinding,
} from './prelude.ts'
import { RecordReader } from './records.ts'
import { AnswerSealer } from './seal-answer.ts'
import type { RequestHead } from './seal-request.ts'

/** Looks up a session's secret by the key it was encapsulated to; `undefined` if unknown. */
export type FindSessionSecret = (
  sealKeyId: Bytes,
  encapsulation: Bytes,
) => Eventually<Bytes | undefined>

export type OpenedRequest = {
  readonly context: RequestContext
  readonly head: RequestHead
  readonly body: Bytes
  /** The key of this worker for which the request was wrapped. */
  readonly sealKeyId: Bytes
  /** Starts the answer; may be called once. */
  sealAnswer(): Eventually<AnswerSealer>
}

/** Yields to other requests after this many bytes: opening them takes about a millisecond. */
const turnBytes = 1024 * 1024

/**
 * Opens an entire sealed request. `accept` is called once the request key is authenticated and
 * before any frame is opened; it refuses old and replayed requests. `giveTurn` is awaited after
 * every megabyte of a long request, so that opening it does not block other requests. A body of
 * several frames is put together in `room`: `bytes` itself if no one else needs them, since what was
 * opened is shorter than what was read.
 */
export function openRequest(
  provider: CryptoProvider,
  findSecret: FindSessionSecret,
  accept: (context: RequestContext) => void,
  bytes: Bytes,
  giveTurn?: () => Promise<void>,
  room?: Bytes,
): Eventually<OpenedRequest> {
  // A copy: the context lives until the answer ends, must not keep the whole request alive, and is
  // told to the gateway, so it must not be overwritten by what is opened in `room`. `slice` would not
  // copy from a `Buffer`.
  const prelude = parsePrelude(new Uint8Array(bytes.subarray(0, maxPreludeLength)))
  if (prelude === undefined)
    throw new EnvelopeError('truncated', 'the request stops in its prelude')
  const wrappedKeys = prelude.recipients.map((recipient) => recipient.wrappedKey)
  return andThen(findOwn(findSecret, prelude, 0), ({ secret, sealKeyId, wrappedKey }) =>
    andThen(bindingOf(provider, prelude), (binding) =>
      andThen(unwrapRequestKey(provider, secret, binding, wrappedKey), (requestKey) => {
        accept(prelude.context)
        return andThen(preludeDigest(provider, binding, wrappedKeys), (digest) =>
          andThen(requestFrameKey(provider, requestKey, digest), (key) =>
            andThen(openFrames(key, bytes.subarray(prelude.length), giveTurn, room), (opened) => ({
              ...opened,
              context: prelude.context,
              sealKeyId,
              sealAnswer: () => AnswerSealer.start(provider, requestKey, digest, sealKeyId),
            })),
          ),
        )
      }),
    ),
  )
}

function bindingOf(provider: CryptoProvider, prelude: Prelude): Eventually<Bytes> {
  return andThen(provider.sha256(prelude.recipientBytes), (digest) =>
    requestBinding(provider, prelude.contextBytes, digest),
  )
}

type Own = { secret: Bytes; sealKeyId: Bytes; wrappedKey: Bytes }

function findOwn(find: FindSessionSecret, prelude: Prelude, index: number): Eventually<Own> {
  const recipient = prelude.recipients[index]
  if (recipient === undefined) {
    const wanted = prelude.recipients.map(({ sealKeyId }) => formatHex(sealKeyId)).join(', ')
    throw new EnvelopeError('unknown_key', `none of the keys ${wanted} is held here`)
  }
  const { sealKeyId, encapsulation, wrappedKey } = recipient
  return andThen(find(sealKeyId, encapsulation), (secret) =>
    secret === undefined ? findOwn(find, prelude, index + 1) : { secret, sealKeyId, wrappedKey },
  )
}

type HeadAndBody = { readonly head: RequestHead; readonly body: Bytes }

function openFrames(
  key: AeadKey,
  bytes: Bytes,
  giveTurn: (() => Promise<void>) | undefined,
  room: Bytes | undefined,
): Eventually<HeadAndBody> {
  const frames = new FrameOpener(key, { leastPlaintext: leastRequestFrame })
  const contents = new RequestContents(bytes.length, bytes.length > turnBytes ? room : undefined)
  if (bytes.length <= turnBytes) {
    return andThen(frames.push(bytes), (opened) => {
      frames.finish()
      contents.add(opened)
      return contents.end()
    })
  }
  return openInTurns(frames, contents, bytes, giveTurn)
}

async function openInTurns(
  frames: FrameOpener,
  contents: RequestContents,
  bytes: Bytes,
  giveTurn: (() => Promise<void>) | undefined,
): Promise<HeadAndBody> {
  for (let at = 0; at < bytes.length; ) {
    const start = at
    // Push whole frames where possible: a partial one would be copied.
    while (at < bytes.length && at - start < turnBytes) at = endOfFrame(bytes, at)
    contents.add(await frames.push(bytes.subarray(start, at)))
    await giveTurn?.()
  }
  frames.finish()
  return contents.end()
}

/** Assembles the head and the body of a request as its frames are opened. */
class RequestContents {
  readonly #reader = new RecordReader()
  readonly #mostBytes: number
  readonly #room: Bytes | undefined
  #head: Bytes = noBytes
  #body: Bytes = noBytes
  #gathered: Bytes | undefined
  #length = 0

  constructor(mostBytes: number, room: Bytes | undefined) {
    this.#mostBytes = mostBytes
    this.#room = room
  }

  add(opened: readonly OpenedFrame[]): void {
    for (const frame of opened) {
      let isNeeded = false
      for (const { kind, bytes } of this.#reader.read(frame)) {
        if (kind === 'data') isNeeded = this.#append(bytes) || isNeeded
        else isNeeded = true
        if (kind === 'head') this.#head = bytes
      }
      if (!isNeeded) freeFrame(frame)
    }
  }

  end(): HeadAndBody {
    const body = this.#gathered?.subarray(0, this.#length) ?? this.#body
    return { head: parseRequestHead(this.#head), body }
  }

  /**
   * Most requests have one data record, which is used in place; several are copied into one buffer.
   * Returns whether it is used in place.
   */
  #append(bytes: Bytes): boolean {
    if (bytes.length === 0) return false
    const isFirst = this.#length === 0
    if (isFirst) this.#body = bytes
    else {
      if (this.#gathered === undefined) {
        this.#gathered = this.#room ?? new Uint8Array(this.#mostBytes)
        this.#gathered.set(this.#body)
        this.#body = noBytes
      }
      this.#gathered.set(bytes, this.#length)
    }
    this.#length += bytes.length
    return isFirst
  }
}

const noBytes = new Uint8Array(0)

function parseRequestHead(bytes: Bytes): RequestHead {
  let head: unknown
  try {
    head = JSON.parse(decodeText(bytes))
  } catch (cause) {
    throw new EnvelopeError('malformed', 'the request head is not JSON', { cause })
  }
  const { headers, cache_salt, shape } = (head ?? {}) as { [key: string]: unknown }
  const valid =
    typeof headers === 'object' &&
    headers !== null &&
    Object.values(headers).every((value) => typeof value === 'string') &&
    (cache_salt === undefined || typeof cache_salt === 'string') &&
    (shape === 'off' || shape === 'default' || shape === 'strict')
  if (!valid) throw new EnvelopeError('malformed', 'the request head lacks headers or shape')
  return head as RequestHead
}
