/** What a real server sent, small enough to commit: the request, the status, and the order of its events. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ServerKind } from '../../packages/inference/src/servers/http-settings.ts'
import type { Answer, Json } from './entrances.ts'

export type Recording = {
  readonly check: string
  readonly path: string
  readonly body: Json
  readonly status: number
  readonly contentType: string
  /** Of a whole answer: its fields with the kinds of their values. */
  readonly shape?: Json
  /** Of a stream: what came, in a row; repetitions are told once. */
  readonly events?: readonly string[]
}

export type Transcript = {
  readonly server: ServerKind
  readonly version: string
  readonly recordings: readonly Recording[]
}

const folder = join(import.meta.dir, 'recordings')

/** One line for each recording, sorted by name; what was not asked this time is kept. */
export function keepRecordings({ server, version, recordings }: Transcript): void {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${server}-${version.replaceAll(' ', '-')}.json`)
  const before = existsSync(path)
    ? (JSON.parse(readFileSync(path, 'utf8')) as Transcript).recordings
    : []
  const names = new Set(recordings.map(({ check }) => check))
  const all = [...before.filter(({ check }) => !names.has(check)), ...recordings]
  const lines = all
    .sort((a, b) => (a.check < b.check ? -1 : 1))
    .map((recording) => `  ${JSON.stringify(recording)}`)
  const head = `{\n "server": ${JSON.stringify(server)},\n "version": ${JSON.stringify(version)},`
  writeFileSync(path, `${head}\n "recordings": [\n${lines.join(',\n')}\n ]\n}\n`)
}

/** Longer requests are left out: they are long, not different. */
const maxBodyChars = 2000

export function record(check: string, path: string, body: Json, answer: Answer): Recording[] {
  if (body === undefined || JSON.stringify(body).length > maxBodyChars) return []
  const { status, headers, json, events } = answer
  const contentType = headers.get('content-type')?.split(';')[0] ?? ''
  const asked = { check, path, body, status, contentType }
  return [
    json === undefined
      ? { ...asked, events: eventKinds(events) }
      : { ...asked, shape: shapeOf(json) },
  ]
}

export function eventKinds(events: readonly Json[]): string[] {
  const kinds = events.map(kindOf)
  return kinds.filter((kind, index) => kind !== kinds[index - 1])
}

function kindOf(event: Json): string {
  if (event === '[DONE]') return event
  if (event.error !== undefined && event.type === undefined) return `error ${event.error.code}`
  if (typeof event.type === 'string') return event.type
  const [choice] = event.choices ?? []
  if (choice === undefined) return 'usage'
  return choice.finish_reason ? 'finish' : 'piece'
}

/** The kinds of the values of an answer, of lists the first alone. */
export function shapeOf(value: Json): Json {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])]
  if (value === null) return null
  if (typeof value !== 'object') return typeof value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]))
}
