/** The client's side of a request: a fresh key, wrapped for each candidate, and the sealed body. */
import { encodeText, joinBytes } from './byte-strings.ts'
import { andThen, type Bytes, type CryptoProvider, type Eventually } from './crypto-provider.ts'
import { FrameSealer, maxFramePlaintext } from './frames.ts'
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

/** What travels sealed beside the body. */
export type RequestHead = {
  /** Client headers that may leave the machine, lower case. */
  readonly headers: Readonly<{ [name: string]: string }>
  /** The prompt-cache salt where the body has none. */
  readonly cache_salt?: string
  readonly shape: TrafficShape
  /** SHA-256 of the manifest that the client enforces, in hex; the receipt repeats it. */
  readonly manifest_digest?: string
}

export type SealedRequest = {
  readonly bytes: Bytes
  readonly opener: AnswerOpener
}

export function sealRequest(
  provider: CryptoProvider,
  sessions: readonly Session[],
  context: RequestContext,
  head: RequestHead,
  body: Bytes,
): Eventually<SealedRequest> {
  const requestKey = provider.random(32)
  const contextBytes = formatContext(context)
  return andThen(recipientsOf(provider, sessions), (recipients) =>
    andThen(requestBinding(provider, contextBytes, recipients.digest), (binding) =>
      andThen(wrapForAll(provider, sessions, binding, requestKey), (wrappedKeys) =>
        andThen(preludeDigest(provider, binding, wrappedKeys), (digest) =>
          andThen(requestFrameKey(provider, requestKey, digest), (key) => {
            const frames = layOutRequest(encodeText(JSON.stringify(head)), body, head.shape)
            return andThen(sealAll(new FrameSealer(key), frames), (sealed) => ({
              bytes: joinBytes([contextBytes, recipients.bytes, ...wrappedKeys, ...sealed]),
              opener: new AnswerOpener(provider, requestKey, digest, sessions),
            }))
          }),
        ),
      ),
    ),
  )
}

/** Recipient sets by their first session: the same few workers are asked again and again. */
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
  const wrapped = sessions.map(({ secret }) =>
    wrapRequestKey(provider, secret, binding, requestKey),
  )
  return isSettled(wrapped) ? wrapped : Promise.all(wrapped)
}

function isSettled<T>(values: Eventually<T>[]): values is T[] {
  return !values.some((value) => value instanceof Promise)
}

function sealAll(sealer: FrameSealer, frames: readonly Bytes[][]): Eventually<Bytes[]> {
  const sealed: Bytes[] = []
  const from = (index: number): Eventually<Bytes[]> => {
    for (let i = index; i < frames.length; i++) {
      const pieces = sealer.seal(frames[i] ?? [], i === frames.length - 1)
      if (pieces instanceof Promise) {
        return pieces.then((settled) => {
          sealed.push(...settled)
          return from(i + 1)
        })
      }
      for (const piece of pieces) sealed.push(piece)
    }
    return sealed
  }
  return from(0)
}

/**
 * Cuts head and body into the plaintexts of frames, padded in sum as the shape says. The end
 * record stands in the last frame; frames of padding alone may come before it.
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
  // Whole frames of padding until the end record and the remaining zeros fit into one.
  while (target - total > maxFramePlaintext) {
    frame.push(new Uint8Array(maxFramePlaintext - used))
    used = maxFramePlaintext
    close()
  }
  frame.push(recordHeader('end', 0))
  frame.push(new Uint8Array(Math.max(0, target - total - used - recordOverhead)))
  frames.push(frame)
  return frames
}
