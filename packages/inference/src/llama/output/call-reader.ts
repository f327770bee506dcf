/** Reads one function call, `{"name": …, "arguments": …}`, and emits its arguments as they arrive. */
import { JsonValueScanner } from './json-value-scanner.ts'
import type { OutputPart } from './output-part.ts'

const opening = /^\s*\{\s*"name"\s*:\s*("(?:[^"\\]|\\.)*")\s*,\s*"(?:arguments|parameters)"\s*:\s*/

export class CallReader {
  readonly #index: number
  #text = ''
  #scanner: JsonValueScanner | undefined
  #hasArguments = false

  constructor(index: number) {
    this.#index = index
  }

  push(text: string): OutputPart[] {
    if (this.#scanner !== undefined) return this.#arguments(text)
    this.#text += text
    const found = opening.exec(this.#text)
    if (found === null) return []
    this.#scanner = new JsonValueScanner()
    const call: OutputPart = { kind: 'call', index: this.#index, name: parse(found[1] ?? '""') }
    return [call, ...this.#arguments(this.#text.slice(found[0].length))]
  }

  /** The call's text has ended; a call written in another order is only understood now. */
  end(): OutputPart[] | undefined {
    if (this.#scanner !== undefined) return []
    const call = readWhole(this.#text)
    if (call === undefined) return undefined
    const index = this.#index
    return [
      { kind: 'call', index, name: call.name },
      { kind: 'arguments', index, text: call.arguments },
    ]
  }

  /** What was read so far, in case it is not a call at all. */
  get text(): string {
    return this.#text
  }

  /** Whether this is an object, and quotes in it delimit strings. */
  get isJson(): boolean {
    return this.#scanner !== undefined || /^\s*\{/.test(this.#text)
  }

  #arguments(piece: string): OutputPart[] {
    const text = this.#hasArguments ? piece : piece.trimStart()
    this.#hasArguments ||= text !== ''
    const taken = text.slice(0, this.#scanner?.push(text) ?? 0)
    return taken === '' ? [] : [{ kind: 'arguments', index: this.#index, text: taken }]
  }
}

function readWhole(text: string): { name: string; arguments: string } | undefined {
  let call: unknown
  try {
    call = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof call !== 'object' || call === null) return undefined
  const { name, arguments: values, parameters } = call as Record<string, unknown>
  if (typeof name !== 'string') return undefined
  const given = values ?? parameters ?? {}
  return { name, arguments: typeof given === 'string' ? given : JSON.stringify(given) }
}

function parse(quoted: string): string {
  try {
    return String(JSON.parse(quoted))
  } catch {
    return quoted.slice(1, -1)
  }
}
