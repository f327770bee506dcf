/** Seals requests whose frames are laid out by hand, as a hostile client would. */
import {
  type Bytes,
  type CryptoProvider,
  joinBytes,
  maxFramePlaintext,
  type RequestContext,
  type Session,
} from '@privatemode/protocol/envelope'
import { FrameSealer } from '../../packages/protocol/src/envelope/frames.ts'
import {
  requestFrameKey,
  wrapRequestKey,
} from '../../packages/protocol/src/envelope/key-schedule.ts'
import {
  formatContext,
  formatRecipients,
  preludeDigest,
  requestBinding,
} from '../../packages/protocol/src/envelope/prelude.ts'
import { recordHeader } from '../../packages/protocol/src/envelope/records.ts'
import { layOutRequest } from '../../packages/protocol/src/envelope/seal-request.ts'

/** `frames` are plaintexts; the last one must have the end record. */
export async function craftRequest(
  provider: CryptoProvider,
  sessions: readonly Session[],
  context: RequestContext,
  frames: Iterable<Bytes>,
): Promise<Bytes> {
  const requestKey = provider.random(32)
  const contextBytes = formatContext(context)
  const recipients = await formatRecipients(provider, sessions)
  const binding = await requestBinding(provider, contextBytes, recipients.digest)
  const wrapped: Bytes[] = []
  for (const { secret } of sessions) {
    wrapped.push(await wrapRequestKey(provider, secret, binding, requestKey))
  }
  const digest = await preludeDigest(provider, binding, wrapped)
  const sealer = new FrameSealer(await requestFrameKey(provider, requestKey, digest))
  const pieces: Bytes[] = [contextBytes, recipients.bytes, ...wrapped]
  const laidOut = [...frames]
  for (const [index, frame] of laidOut.entries()) {
    const sealed = sealer.seal([frame], index === laidOut.length - 1)
    for (const piece of sealed instanceof Promise ? await sealed : sealed) pieces.push(piece)
  }
  return joinBytes(pieces)
}

const head = new TextEncoder().encode('{"headers":{},"shape":"off"}')
const headRecord = joinBytes([recordHeader('head', head.length), head])
const endRecord = recordHeader('end', 0)

/** Full frames of data records with one byte each. */
export function* tinyRecords(records: number): Generator<Bytes> {
  const tiny = joinBytes([recordHeader('data', 1), Uint8Array.of(0x20)])
  let [frame, used] = [new Uint8Array(maxFramePlaintext), headRecord.length]
  frame.set(headRecord)
  for (let left = records; left > 0; left--) {
    if (used + tiny.length > frame.length) {
      yield frame
      ;[frame, used] = [new Uint8Array(maxFramePlaintext), 0]
    }
    frame.set(tiny, used)
    used += tiny.length
  }
  yield joinBytes([frame.subarray(0, used), endRecord])
}

/** Frames without any bytes, before the end. */
export function* emptyFrames(frames: number): Generator<Bytes> {
  yield headRecord
  const none = new Uint8Array(0)
  for (let i = 0; i < frames; i++) yield none
  yield endRecord
}

/** A body as honest clients lay it out. */
export const bodyFrames = (body: Uint8Array): Bytes[] =>
  layOutRequest(head, new Uint8Array(body), 'off').map(joinBytes)
