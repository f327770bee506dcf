/** The worker's side of a request: find the own key, unwrap, open every frame to the end. */
import { decodeText, formatHex, joinBytes } from './byte-strings.ts'
import { andThen, type Bytes, type CryptoProvider, type Eventually } from './crypto-provider.ts'
import { EnvelopeError } from './envelope-error.ts'
import { FrameOpener } from './frames.ts'
import { requestFrameKey, unwrapRequestKey } from './key-schedule.ts'
import {
  type Prelude,
  parsePrelude,
  preludeDigest,
  type RequestContext,
  requestBinding,
} from './prelude.ts'
import { RecordReader } from './records.ts'
import { AnswerSealer } from './seal-answer.ts'
import type { RequestHead } from './seal-request.ts'

/** The secret of a session, by the key it was encapsulated to; `undefined` where unknown. */
export type FindSessionSecret = (
  sealKeyId: Bytes,
  encapsulation: Bytes,
) => Eventually<Bytes | undefined>

export type OpenedRequest = {
  readonly context: RequestContext
  readonly head: RequestHead
  readonly body: Bytes
  /** The key of this worker that the request was wrapped for. */
  readonly sealKeyId: Bytes
  /** Starts the answer; may be called once. */
  sealAnswer(): Eventually<AnswerSealer>
}

/**
 * Opens a whole sealed request. `accept` is asked once the request key is authentic and before
 * any frame is opened: it is the place to refuse old and repeated requests.
 */
export function openRequest(
  provider: CryptoProvider,
  findSecret: FindSessionSecret,
  accept: (context: RequestContext) => void,
  bytes: Bytes,
): Eventually<OpenedRequest> {
  const prelude = parsePrelude(bytes)
  if (prelude === undefined)
    throw new EnvelopeError('truncated', 'the request stops in its prelude')
  const wrappedKeys = prelude.recipients.map((recipient) => recipient.wrappedKey)
  return andThen(findOwn(findSecret, prelude, 0), ({ secret, sealKeyId, wrappedKey }) =>
    andThen(bindingOf(provider, prelude), (binding) =>
      andThen(unwrapRequestKey(provider, secret, binding, wrappedKey), (requestKey) => {
        accept(prelude.context)
        return andThen(preludeDigest(provider, binding, wrappedKeys), (digest) =>
          andThen(requestFrameKey(provider, requestKey, digest), (key) =>
            andThen(openFrames(new FrameOpener(key), bytes.subarray(prelude.length)), (opened) => ({
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

function openFrames(
  frames: FrameOpener,
  bytes: Bytes,
): Eventually<{ head: RequestHead; body: Bytes }> {
  return andThen(frames.push(bytes), (opened) => {
    frames.finish()
    const reader = new RecordReader()
    const records = opened.flatMap((frame) => reader.read(frame))
    const head = parseRequestHead(records[0]?.bytes ?? new Uint8Array())
    const data = records.flatMap((record) => (record.kind === 'data' ? [record.bytes] : []))
    return { head, body: joinBytes(data) }
  })
}

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
