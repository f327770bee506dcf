/** Cuts JSON text into the exact text of its members, since signatures are over exact bytes. */

export type JsonSlice =
  | { readonly kind: 'object'; readonly members: ReadonlyMap<string, string> }
  | { readonly kind: 'array'; readonly items: readonly string[] }
  | { readonly kind: 'leaf'; readonly value: unknown }

/** Undefined where the text is not JSON. */
export function sliceJson(text: string): JsonSlice | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (Array.isArray(value)) {
    // Byte strings as arrays of numbers have thousands of items: not worth cutting.
    const isFlat = value.every((item) => typeof item !== 'object')
    return isFlat ? { kind: 'leaf', value } : { kind: 'array', items: cut(text) }
  }
  if (typeof value !== 'object' || value === null) return { kind: 'leaf', value }
  const members = new Map<string, string>()
  for (const part of cut(text)) {
    const end = stringEnd(part, 0)
    members.set(JSON.parse(part.slice(0, end)), part.slice(part.indexOf(':', end) + 1).trim())
  }
  return { kind: 'object', members }
}

/** The parts between the commas of the outermost brackets of valid JSON. */
function cut(text: string): string[] {
  const body = text.trim().slice(1, -1)
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at < body.length; at += 1) {
    const character = body[at]
    if (character === '"') at = stringEnd(body, at) - 1
    else if (character === '{' || character === '[') depth += 1
    else if (character === '}' || character === ']') depth -= 1
    else if (character === ',' && depth === 0) {
      parts.push(body.slice(start, at).trim())
      start = at + 1
    }
  }
  const last = body.slice(start).trim()
  return last === '' ? parts : [...parts, last]
}

/** The position behind the string that begins at `start`. */
function stringEnd(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}
