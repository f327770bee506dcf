/** Mutates the structure of JSON: the text stays valid, so that the checks behind the parser are reached. */
import type { Random } from '../../packages/attestation/src/testing/mutate-input.ts'

type Holder = Record<string | number, unknown>
type Place = { readonly holder: Holder; readonly key: string | number }

/** Values that break checks and translators that expect something else. */
const oddValues: readonly unknown[] = [
  ...[null, true, false, 0, -1, 0.5, 1e21, 2 ** 53, '', ' ', 'x', '0', 'null', '\ud800'],
  ...[[], {}, [null], [[]], [{}], { type: 'text' }, { type: 'text', text: null }, { length: -1 }],
  ...['auto', 'none', 'tool', 'assistant', 'user', 'system', 'function', 'json_object', 'text'],
  ...['data:image/png;base64,AA==', 'https://127.0.0.1/', '__proto__', 'constructor', '{"a":1}'],
]
const oddKeys = ['__proto__', 'constructor', 'toString', 'type', 'content', 'role', 'n', 'index']
const maxPlaces = 2_000

/** One to three changes; undefined if there is no JSON. Events of a stream are changed one at a time. */
export function mutateJson(bytes: Uint8Array, random: Random): Uint8Array<ArrayBuffer> | undefined {
  const text = new TextDecoder().decode(bytes)
  const first = text.trimStart()[0]
  if (first === '{' || first === '[') return encode(mutateText(text, random))
  const lines = text.split('\n')
  const data = lines.flatMap((line, at) => (line.startsWith('data: {') ? [at] : []))
  const at = data[random.below(data.length || 1)]
  if (at === undefined) return undefined
  const changed = mutateText((lines[at] ?? '').slice('data: '.length), random)
  if (changed === undefined) return undefined
  lines[at] = `data: ${changed}`
  return encode(lines.join('\n'))
}

const encode = (text: string | undefined) =>
  text === undefined ? undefined : new TextEncoder().encode(text)

function mutateText(text: string, random: Random): string | undefined {
  const root: Holder = {}
  try {
    root.value = JSON.parse(text)
  } catch {
    return undefined
  }
  for (let left = 1 + random.below(3); left > 0; left--) {
    const places = placesIn(root)
    const place = places[random.below(places.length)]
    const other = places[random.below(places.length)]
    if (place !== undefined && other !== undefined) change(place, other, random)
  }
  return JSON.stringify(root.value) ?? 'null'
}

function change({ holder, key }: Place, other: Place, random: Random): void {
  const value = holder[key]
  switch (random.below(6)) {
    case 0:
      delete holder[key]
      return
    case 1:
      // A copy: a circular value cannot be serialised.
      setOwn(holder, key, structuredClone(other.holder[other.key]))
      return
    case 2:
      if (Array.isArray(value)) value.push(structuredClone(other.holder[other.key]))
      else setOwn(holder, key, [value])
      return
    case 3:
      setOwn(holder, oddKeys[random.below(oddKeys.length)] ?? 'x', value)
      return
    default:
      setOwn(holder, key, structuredClone(oddValues[random.below(oddValues.length)]))
  }
}

/** As JSON.parse does it: `__proto__` becomes a field like others. */
function setOwn(holder: Holder, key: string | number, value: unknown): void {
  Object.defineProperty(holder, key, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  })
}

function placesIn(root: Holder): Place[] {
  const places: Place[] = []
  const waiting: Holder[] = [root]
  for (let holder = waiting.pop(); holder !== undefined; holder = waiting.pop()) {
    for (const key of Object.keys(holder)) {
      if (places.length >= maxPlaces) return places
      places.push({ holder, key })
      const value = holder[key]
      if (typeof value === 'object' && value !== null) waiting.push(value as Holder)
    }
  }
  return places
}
