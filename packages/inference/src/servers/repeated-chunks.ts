/**
 * Reads chunks that differ from an earlier one only in their text and counts, without parsing them.
 *
 * Nearly every event of a stream is such a chunk, and parsing it costs more than everything else
 * done with it. An event that differs in any other character is parsed like any first one.
 */
import type { SseDecoder } from '@privatemode/protocol/api'
import type { JsonObject } from '../engine.ts'
import { type ChunkForm, repeatChunk } from '../repeated-chunk.ts'
import { renameStop } from './rename-fields.ts'

/** A form, and how its events are written. */
type WrittenForm = ChunkForm & {
  /** The event up to the first character of its text. */
  readonly before: string
  /** From the quotation mark that ends the text up to the usage object, or to the end of the event. */
  readonly after: string
  /** What follows the usage object; undefined if the event has none. */
  readonly tail: string | undefined
  /** Matches `after`, a usage object that differs only in its numbers, and the tail. */
  readonly rest: RegExp
}

export type RepeatedRun = {
  readonly chunk: JsonObject
  /** How many events it was joined from. */
  readonly events: number
}

/** A stream whose events alternate between more forms gains little from learning all of them. */
const maxLearned = 8
/** A usage object that is longer has more than counts. */
const maxUsageLength = 1024
const eventEnd = '\n\n'

export class RepeatedChunks {
  readonly #mostJoined: number
  #form: WrittenForm | undefined
  #learned = 0

  /** `mostJoined` chunks that arrived together are returned as one, with all of their text. */
  constructor(mostJoined: number) {
    this.#mostJoined = mostJoined
  }

  /** Remembers the form of an event that had to be parsed, if others may repeat it. */
  learn(data: string, chunk: JsonObject): void {
    if (this.#learned === maxLearned) return
    const form = writtenForm(data, chunk)
    if (form === undefined) return
    this.#form = form
    this.#learned++
    if (this.#learned === 1) keepOpening(openingOf(form))
  }

  /** The next chunk, if it repeats the form that was learned, here or in an earlier stream. */
  take(decoder: SseDecoder): RepeatedRun | undefined {
    const texts: string[] = []
    let usage: JsonObject | undefined
    decoder.readAhead((source, start) => {
      this.#form ??= formOf(source, start)
      if (this.#form === undefined) return start
      const run = readRun(this.#form, source, start, this.#mostJoined, texts)
      usage = run.usage
      return run.end
    })
    const form = this.#form
    if (form === undefined || texts.length === 0) return undefined
    return { chunk: repeatChunk(form, texts, usage), events: texts.length }
  }
}

/** A form that streams of a server have in common: they differ in their id and their time. */
type Opening = {
  readonly form: WrittenForm
  /** Matches `before` with any id and time. */
  readonly before: RegExp
}

/** Those of the last streams that had to be parsed; they have nothing of the texts. */
let openings: readonly Opening[] = []
/** A server's models and endpoints write different ones; more than a few hardly take turns. */
const maxOpenings = 4

function keepOpening(opening: Opening | undefined): void {
  if (opening === undefined) return
  const others = openings.filter(({ before }) => before.source !== opening.before.source)
  openings = [opening, ...others].slice(0, maxOpenings)
}

/** Undefined if a server does not write both before the text. */
function openingOf(form: WrittenForm): Opening | undefined {
  const { id, created } = form.chunk
  const [start, middle, ...more] = form.before.split(`"${id}"`)
  const parts = middle?.split(/(?<="created": ?)\d+(?=[,}])/) ?? []
  const isKnown = typeof id === 'string' && Number.isSafeInteger(created)
  if (!isKnown || start === undefined || more.length > 0 || parts.length !== 2) return undefined
  const [between = '', end = ''] = parts
  const source = `${escaped(start)}"([\\w.:-]+)"${escaped(between)}(${anyNumber})${escaped(end)}`
  return { form, before: new RegExp(source, 'y') }
}

/** The form of a stream that starts like one of the last. */
function formOf(source: string, start: number): WrittenForm | undefined {
  for (const { form, before: pattern } of openings) {
    pattern.lastIndex = start
    const [before, id, created] = pattern.exec(source) ?? []
    if (before === undefined) continue
    return { ...form, chunk: { ...form.chunk, id, created: Number(created) }, before }
  }
  return undefined
}

/** Escapes, and characters that a JSON string must not contain, are left to the parser. */
const textEnd = /[^ !#-[\]-\uffff]/g

/** Adds the texts of all events that repeat the form. Only the last counts are needed: they only grow. */
function readRun(
  { before, after, tail, rest }: WrittenForm,
  source: string,
  start: number,
  most: number,
  texts: string[],
): { readonly usage: JsonObject | undefined; readonly end: number } {
  let at = start
  let countsAt = start
  while (texts.length < most && source.startsWith(before, at)) {
    const textStart = at + before.length
    textEnd.lastIndex = textStart
    if (!textEnd.test(source)) break
    const quote = textEnd.lastIndex - 1
    rest.lastIndex = quote
    if (!rest.test(source)) break
    texts.push(source.slice(textStart, quote))
    countsAt = quote + after.length
    at = rest.lastIndex
  }
  if (tail === undefined || texts.length === 0) return { usage: undefined, end: at }
  return { usage: parseObject(source.slice(countsAt, at - tail.length)), end: at }
}

/** Undefined if a chunk says more than text and counts, or its event is not cut with certainty. */
function writtenForm(data: string, chunk: JsonObject): WrittenForm | undefined {
  const form = findForm(chunk)
  if (form === undefined) return undefined
  const textStart = findText(data, form.field)
  if (textStart < 0) return undefined
  textEnd.lastIndex = textStart
  if (!textEnd.test(data)) return undefined
  const before = `data: ${data.slice(0, textStart)}`
  const rest = data.slice(textEnd.lastIndex - 1)
  const hasUsage = isObject(chunk.usage)
  const [after, usage, tail] = hasUsage ? cutUsage(rest) : [rest + eventEnd, '', undefined]
  const written = { ...form, before, after, tail, rest: restOf(after, usage ?? '', tail ?? '') }
  if (usage === undefined || !isCutRight(written)) return undefined
  // Chunks of the form are written without being parsed, and so without being renamed.
  return { ...written, choice: renameStop({ ...written.choice }) }
}

/** Where the text of a field starts, written with or without a space; `isCutRight` checks the guess. */
function findText(data: string, field: string): number {
  for (const key of [`"${field}":"`, `"${field}": "`]) {
    const at = data.indexOf(key)
    if (at >= 0) return at + key.length
  }
  return -1
}

function findForm(chunk: JsonObject): ChunkForm | undefined {
  const { choices, usage: _, ...rest } = chunk
  const [choice, ...others] = Array.isArray(choices) ? choices : []
  if (!isObject(choice) || others.length > 0 || typeof choice.finish_reason === 'string')
    return undefined
  const { delta, ...ofChoice } = choice
  const spoken = isObject(delta) ? delta : { text: choice.text }
  const [field, ...more] = Object.keys(spoken).filter((name) => spoken[name] !== null)
  if (field === undefined || more.length > 0 || typeof spoken[field] !== 'string') return undefined
  if (field === 'role' || ![...Object.values(rest), ...Object.values(ofChoice)].every(isSimple))
    return undefined
  const isDelta = isObject(delta)
  // Readers modify the chunk, and a form outlives its stream: it keeps no text.
  const own = isDelta ? { ...choice, delta: { ...delta, [field]: '' } } : { ...choice, [field]: '' }
  return { chunk: rest, choice: own, field, isDelta }
}

function cutUsage(rest: string): readonly [string, string | undefined, string | undefined] {
  const found = /"usage": ?(\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})/.exec(rest)
  if (found === null) return ['', undefined, undefined]
  const object = found[1] ?? ''
  if (object.length > maxUsageLength) return ['', undefined, undefined]
  const start = found.index + found[0].length - object.length
  return [rest.slice(0, start), object, rest.slice(start + object.length) + eventEnd]
}

/** A number that JSON allows, without a sign or a fraction: counts have neither. */
const anyNumber = '(?:0|[1-9]\\d{0,14})'

/** The last pattern: the streams of a server differ in their numbers, hardly ever in anything else. */
let known = /(?!)/y

/**
 * One pattern for all of it, since each match is a call. Making a pattern costs more than trying
 * one: what it matches to the end would make the same.
 */
function restOf(after: string, usage: string, tail: string): RegExp {
  const text = after + usage + tail
  known.lastIndex = 0
  if (!known.test(text) || known.lastIndex !== text.length)
    known = new RegExp(`${escaped(after)}${withAnyNumbers(usage)}${escaped(tail)}`, 'y')
  return known
}

function withAnyNumbers(object: string): string {
  return object
    .split(/(?<=: ?)\d+/)
    .map(escaped)
    .join(anyNumber)
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')

/** Whether an event written in this form is parsed into what is returned for it. */
function isCutRight(form: WrittenForm): boolean {
  const { before, after, tail } = form
  const text = 'a text that no server sends'
  const usage = tail === undefined ? undefined : '{"prompt_tokens":987654321}'
  const written = `${before}${text}${after}${usage === undefined ? '' : usage + tail}`
  const { usage: parsedUsage, ...rest } = parseObject(written.slice('data: '.length)) ?? {}
  return (
    JSON.stringify(rest) === JSON.stringify(repeatChunk(form, [text], undefined)) &&
    JSON.stringify(parsedUsage ?? undefined) === usage
  )
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** What chunks may share, although each is modified by its reader. */
function isSimple(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
