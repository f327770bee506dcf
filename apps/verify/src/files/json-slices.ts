/** Splits JSON text into the exact text of its members, since signatures cover exact bytes. */

/** `text` is the exact text in the file, without surrounding white space. */
export type JsonSlice =
  | {
      readonly kind: 'object'
      readonly text: string
      readonly members: ReadonlyMap<string, JsonSlice>
    }
  | { readonly kind: 'array'; readonly text: string; readonly items: readonly JsonSlice[] }
  /** A string, number, literal, or an array of numbers: byte strings have thousands of items. */
  | { readonly kind: 'leaf'; readonly text: string }

export type JsonLimits = {
  /** Anything deeper is not split: it is returned as a leaf. */
  readonly maxDepth: number
  /** Called for every value; throws if there are too many. */
  readonly count: () => void
}

/** Undefined if the text is not JSON. Reads the text twice, however deep it is. */
export function sliceJson(text: string, limits: JsonLimits): JsonSlice | undefined {
  try {
    JSON.parse(text)
  } catch {
    return undefined
  }
  return new Slicer(text, limits).value(0)
}

const numbers = /\[[\s\d,.eE+-]*\]/y
const scalar = /[^\s,\]}]+/y

/** Assumes that the text is valid JSON. */
class Slicer {
  readonly #text: string
  readonly #limits: JsonLimits
  #at = 0

  constructor(text: string, limits: JsonLimits) {
    this.#text = text
    this.#limits = limits
  }

  value(depth: number): JsonSlice {
    this.#limits.count()
    this.#space()
    const start = this.#at
    const text = () => this.#text.slice(start, this.#at)
    const opening = this.#text[start]
    if (opening === '"') this.#string()
    else if (opening !== '{' && opening !== '[') this.#match(scalar)
    else if (depth >= this.#limits.maxDepth) this.#skipNested()
    else if (opening === '{') {
      const members = this.#members(depth + 1)
      return { kind: 'object', text: text(), members }
    } else if (!this.#match(numbers)) {
      const items = this.#items(depth + 1)
      return { kind: 'array', text: text(), items }
    }
    return { kind: 'leaf', text: text() }
  }

  #members(depth: number): ReadonlyMap<string, JsonSlice> {
    const members = new Map<string, JsonSlice>()
    this.#at += 1
    while (!this.#closes()) {
      const start = this.#at
      this.#string()
      const name = JSON.parse(this.#text.slice(start, this.#at)) as string
      this.#at = this.#text.indexOf(':', this.#at) + 1
      members.set(name, this.value(depth))
    }
    return members
  }

  #items(depth: number): readonly JsonSlice[] {
    const items: JsonSlice[] = []
    this.#at += 1
    while (!this.#closes()) items.push(this.value(depth))
    return items
  }

  /** Skips a comma, or the closing bracket, in which case it returns true. */
  #closes(): boolean {
    this.#space()
    const character = this.#text[this.#at]
    if (character !== '}' && character !== ']' && character !== ',') return false
    this.#at += 1
    if (character !== ',') return true
    this.#space()
    return false
  }

  #skipNested(): void {
    let depth = 0
    do {
      const character = this.#text[this.#at]
      if (character === '"') this.#string()
      else {
        if (character === '{' || character === '[') depth += 1
        if (character === '}' || character === ']') depth -= 1
        this.#at += 1
      }
    } while (depth > 0)
  }

  #string(): void {
    this.#at += 1
    while (this.#text[this.#at] !== '"') this.#at += this.#text[this.#at] === '\\' ? 2 : 1
    this.#at += 1
  }

  #match(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#text)
    this.#at += match?.[0].length ?? 0
    return match !== null
  }

  #space(): void {
    while (' \n\r\t'.includes(this.#text[this.#at] ?? '.')) this.#at += 1
  }
}
