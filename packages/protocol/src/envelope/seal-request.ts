/** The client's side of a request: a fresh key, wrapped for each candidate, and the sealed body. */
import { encodeText, joinBytes } from './byte-strings.ts'
import { andThen, type Bytes, type CryptoProvider, type Eventually } from './crypto-provider.ts'
import { FrameSealer, frameOverhead, maxFramePlaintext } from './frames.ts'
import { requestFrameKey, wrapRequestKey } from './key-schedule.ts'
import { AnswerOpener } from './open-answer.ts'
import { paddedRequestLength, type TrafficShape } from './padding.ts'
import {
  formatContext,
  formatRecipients,
  preludeDigest,
  type RecipientSet,
  type RequestContext,
  requestBinding,
} from './prelude.ts'
import { recordHeader, recordOverhead } from './records.ts'
import type { Session } from './session.ts'

/** What is sealed along with the body. */
export type RequestHead = {
  /** Client headers that may leave the machine, lower case. */
  readonly headers: Readonly<{ [name: string]: string }>
  /** The prompt-cache salt, if the body has none. */
  readonly cache_salt?: string
  readonly shape: TrafficShape
  /** SHA-256 of the manifest that the client enforces, in hex; the receipt repeats it. */
  readonly manifest_digest?: string
}

export type SealedRequest = {
  readonly bytes: Bytes
  readonly opener: AnswerOpener
}

/**
 * A request that is sealed frame by frame while it is sent, so a long one is never held in memory
 * twice.
 */
export type SealingRequest = {
  /** Total length of the prelude and all frames. */
  readonly lengthBytes: number
  /**
   * The prelude, plus the frame if there is only one: for most requests this is everything. In
   * pieces, since joining them is a copy that a socket need not have.
   */
  readonly first: readonly Bytes[]
  /** Of those, the pieces of the frame: nothing else uses their memory. */
  readonly frame: readonly Bytes[]
  /**
   * Seals the next frame, in pieces; `undefined` after the last. Each call must settle before the
   * next.
   */
  readonly next: () => Eventually<readonly Bytes[]> | undefined
  readonly opener: AnswerOpener
}

export function sealRequest(
  provider: CryptoProvider,
  sessions: readonly Session[],
  context: RequestContext,
  head: RequestHead,
  body: Bytes,
): Eventually<SealedRequest> {
  return andThen(beginRequest(provider, sessions, context, head, body), (sealing) =>
    andThen(finishRequest(sealing), (bytes) => ({ bytes, opener: sealing.opener })),
  )
}

export function beginRequest(
  provider: CryptoProvider,
  sessions: readonly Session[],
  context: RequestContext,
  head: RequestHead,
  body: Bytes,
): Eventually<SealingRequest> {
  const requestKey = provider.random(32)
  const contextBytes = formatContext(context)
  return andThen(recipientsOf(provider, sessions), (recipients) =>
    andThen(requestBinding(provider, contextBytes, recipients.digest), (binding) =>
      andThen(wrapForAll(provider, sessions, binding, requestKey), (wrappedKeys) =>
        andThen(preludeDigest(provider, binding, wrappedKeys), (digest) =>
          andThen(requestFrameKey(provider, requestKey, digest), (key) => {
            const frames = layOutRequest(encodeText(JSON.stringify(head)), body, head.shape)
            const prelude = [contextBytes, recipients.bytes].concat(wrappedKeys)
            const opener = new AnswerOpener(provider, requestKey, digest, sessions)
            return sealFirst(new FrameSealer(key), frames, prelude, opener)
          }),
        ),
      ),
    ),
  )
}

function sealFirst(
  sealer: FrameSealer,
  frames: readonly Bytes[][],
  prelude: readonly Bytes[],
  opener: AnswerOpener,
): Eventually<SealingRequest> {
  let at = 0
  const next = () => {
    const frame = frames[at++]
    return frame === undefined ? undefined : sealer.seal(frame, at === frames.length)
  }
  let lengthBytes = sizeOf(prelude)
  for (const frame of frames) lengthBytes += sizeOf(frame) + frameOverhead
  if (frames.length > 1) return { lengthBytes, first: prelude, frame: [], next, opener }
  return andThen(next() ?? [], (sealed) => {
    return { lengthBytes, first: prelude.concat(sealed), frame: sealed, next, opener }
  })
}

function sizeOf(parts: readonly Bytes[]): number {
  let size = 0
  for (const part of parts) size += part.length
  return size
}

/** Seals the remaining frames and joins everything. */
export function finishRequest(sealing: SealingRequest): Eventually<Bytes> {
  const pieces = [...sealing.first]
  const more = (): Eventually<Bytes> => {
    for (;;) {
      const sealed = sealing.next()
      if (sealed === undefined) return joinBytes(pieces)
      if (sealed instanceof Promise) {
        return sealed.then((settled) => {
          pieces.push(...settled)
          return more()
        })
      }
      for (const piece of sealed) pieces.push(piece)
    }
  }
  return more()
}

/** Recipient sets by their first session: most requests go to the same few workers. */
const knownSets = new WeakMap<Session, { sessions: readonly Session[]; set: RecipientSet }[]>()
const maxKnownSets = 16

function recipientsOf(
  provider: CryptoProvider,
  sessions: readonly Session[],
): Eventually<RecipientSet> {
  const [first] = sessions
  if (first === undefined) return formatRecipients(provider, sessions)
  const known = knownSets.get(first) ?? []
  const found = known.find((entry) => isSame(entry.sessions, sessions))
  if (found !== undefined) return found.set
  return andThen(formatRecipients(provider, sessions), (set) => {
    knownSets.set(first, [{ sessions, set }, ...known].slice(0, maxKnownSets))
    return set
  })
}

const isSame = (a: readonly Session[], b: readonly Session[]) =>
  a.length === b.length && a.every((session, index) => session === b[index])

function wrapForAll(
  provider: CryptoProvider,
  sessions: readonly Session[],
  binding: Bytes,
  requestKey: Bytes,
): Eventually<Bytes[]> {
  const wrapped: Eventually<Bytes>[] = []
  for (const { secret } of sessions) {
    wrapped.push(wrapRequestKey(provider, secret, binding, requestKey))
  }
  return isSettled(wrapped) ? wrapped : Promise.all(wrapped)
}

function isSettled<T>(values: Eventually<T>[]): values is T[] {
  return !values.some((value) => value instanceof Promise)
}

/** Never written to: new padding for every request would be memory that is never warm. */
const zeros = new Uint8Array(maxFramePlaintext)

/**
 * Splits head and body into the plaintexts of frames, padded in total as the shape requires. The
 * end record is in the last frame; frames of padding only may come before it.
 */
export function layOutRequest(head: Bytes, body: Bytes, shape: TrafficShape): Bytes[][] {
  const frames: Bytes[][] = []
  let frame: Bytes[] = [recordHeader('head', head.length), head]
  let used = recordOverhead + head.length
  let total = 0
  const close = () => {
    frames.push(frame)
    total += used
    frame = []
    used = 0
  }
  for (let offset = 0; offset < body.length; ) {
    if (maxFramePlaintext - used <= recordOverhead) close()
    const take = Math.min(body.length - offset, maxFramePlaintext - used - recordOverhead)
    frame.push(recordHeader('data', take), body.subarray(offset, offset + take))
    used += recordOverhead + take
    offset += take
  }
  const target = paddedRequestLength(total + used + recordOverhead, shape)
  // Add whole frames of padding until the end record and the remaining zeros fit into one.
  while (target - total > maxFramePlaintext) {
    frame.push(zeros.subarray(used))
    used = maxFramePlaintext
    close()
  }
  frame.push(recordHeader('end', 0))
  frame.push(zeros.subarray(0, Math.max(0, target - total - used - recordOverhead)))
  frames.push(frame)
  return frames
}
