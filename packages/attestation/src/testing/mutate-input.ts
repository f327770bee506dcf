/** Damages byte strings randomly but reproducibly, as fuzzer inputs. */
import { seededBits } from './seeded-bits.ts'

export type Random = {
  /** 0 to `limit` - 1. */
  below(limit: number): number
}

export function seededRandom(seed: number): Random {
  const next = seededBits(seed)
  return { below: (limit) => next() % limit }
}

// Typical parser pitfalls: boundary lengths, nesting, escapes, and the formats' delimiters.
const tokens: readonly Uint8Array[] = [
  ...[[0], [0xff], [0x7f, 0xff], [0x80], [0x80, 0, 0, 0], [0xff, 0xff, 0xff, 0xff]],
  ...[
    [0x30, 0x80],
    [0x30, 0x84, 0x7f, 0xff, 0xff, 0xff],
    [0x02, 0x00],
    [0x06, 0x01, 0x80],
  ],
  ...[
    [0xc0, 0x80],
    [0xed, 0xa0, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
    [0xef, 0xbb, 0xbf],
  ],
].map((bytes) => Uint8Array.from(bytes))
const words: readonly string[] = [
  ...['"', '\\', '\\u0000', '\\ud800', '{', '}', '[', ']', ':', ',', 'null', '1e999', '-0', '1.0'],
  ...['"__proto__":', '"constructor":{}', '"version":1', '"toString"', '0', '9007199254740993'],
  ...['[['.repeat(200), '{"a":'.repeat(100), '<a>'.repeat(40), '30'.repeat(64)],
  ...['<', '>', '/>', '</a>', '<a ', '="', "'", '&amp;', '&#x41;', '&#0;', '&x;', '<!--', '-->'],
  ...['<!DOCTYPE a>', '<![CDATA[', ']]>', '<?a?>', ' xmlns="urn:x"', ' xml:id="x"', ' p:a=""'],
  ...['\n', '\n\n', '\r', '\t', ' ', '-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----'],
  ...['=', '==', '— ', '+', '\u2028', 'é', '😀'],
]
const dictionary = [...tokens, ...words.map((word) => new TextEncoder().encode(word))]

const maxInputBytes = 64 * 1024

/** One to four changes to one of `seeds`; occasionally pure noise. */
export function mutateInput(seeds: readonly Uint8Array[], random: Random): Uint8Array<ArrayBuffer> {
  if (random.below(64) === 0) return noise(random.below(256), random)
  let bytes = new Uint8Array(seeds[random.below(seeds.length)] ?? [])
  for (let left = 1 + random.below(4); left > 0; left--) bytes = change(bytes, seeds, random)
  return bytes.length > maxInputBytes ? bytes.slice(0, maxInputBytes) : bytes
}

function change(
  bytes: Uint8Array<ArrayBuffer>,
  seeds: readonly Uint8Array[],
  random: Random,
): Uint8Array<ArrayBuffer> {
  const at = random.below(bytes.length + 1)
  const length = random.below(Math.min(bytes.length - at, 64) + 1)
  switch (random.below(8)) {
    case 0:
      return replace(bytes, at, 1, Uint8Array.of((bytes[at] ?? 0) ^ (1 << random.below(8))))
    case 1:
      return replace(bytes, at, 1, Uint8Array.of(random.below(256)))
    case 2:
      return replace(bytes, at, length, new Uint8Array())
    case 3:
      return replace(bytes, at, 0, bytes.subarray(at, at + length))
    case 4:
      return replace(bytes, at, random.below(2) * length, dictionaryEntry(random))
    case 5:
      return bytes.slice(0, at)
    case 6: {
      const other = seeds[random.below(seeds.length)] ?? bytes
      const from = random.below(other.length + 1)
      return replace(bytes, at, length, other.subarray(from, from + random.below(256)))
    }
    default:
      return replace(bytes, at, length, noise(random.below(16), random))
  }
}

function replace(
  bytes: Uint8Array,
  at: number,
  length: number,
  insert: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const end = Math.min(at + length, bytes.length)
  const changed = new Uint8Array(bytes.length - (end - at) + insert.length)
  changed.set(bytes.subarray(0, at))
  changed.set(insert, at)
  changed.set(bytes.subarray(end), at + insert.length)
  return changed
}

const dictionaryEntry = (random: Random): Uint8Array =>
  dictionary[random.below(dictionary.length)] ?? new Uint8Array()

const noise = (length: number, random: Random): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length }, () => random.below(256))
