/** What a fuzzer needs to know about one parser. */

export type FuzzTarget = {
  readonly name: string
  /** Valid inputs, which must not be refused. */
  readonly seeds: readonly Uint8Array[]
  /** Parses, or refuses with one of the errors below; any other error is a finding. */
  readonly read: (bytes: Uint8Array<ArrayBuffer>) => unknown
}

/** Names of the typed errors, which callers can report. */
const typedErrors: ReadonlySet<string> = new Set([
  'ApiError',
  'AttestationError',
  'EngineError',
  'EnvelopeError',
  'MessageError',
  'ModelError',
  'SseError',
  'WorkerError',
])

export const isTyped = (error: unknown): boolean =>
  error instanceof Error && typedErrors.has(error.name)

/** Thrown by a target that found two interpretations of the same bytes. */
export class Disagreement extends Error {
  override readonly name = 'Disagreement'
}

export function requireSame(what: string, a: unknown, b: unknown): void {
  const [first, second] = [JSON.stringify(a), JSON.stringify(b)]
  if (first !== second) throw new Disagreement(`${what}: ${first} and ${second}`)
}

/** Splits bytes into pieces depending on their content, so that the same input is always split the same way. */
export function piecesOf(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
  const pieces: Uint8Array<ArrayBuffer>[] = []
  for (let at = 0, turn = bytes.length; at < bytes.length; turn++) {
    const length = 1 + (((bytes[at] ?? 0) * 7 + turn * 13) % 29)
    pieces.push(bytes.subarray(at, at + length))
    at += length
  }
  return pieces
}

export const text = (value: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(value)
export const json = (value: unknown): Uint8Array<ArrayBuffer> => text(JSON.stringify(value))

/** For parsers of values: the fallback replaces input that is not JSON at all. */
export function parseOr(bytes: Uint8Array, fallback: unknown): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return fallback
  }
}
