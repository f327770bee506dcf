/** The scripted model server matches real ones: compared with recordings of `npm run test:servers`. */
import { afterAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startScriptedServer } from '../../packages/inference/src/testing/scripted-server.ts'
import { type Json, straight } from './entrances.ts'
import { eventKinds, type Recording, shapeOf, type Transcript } from './recordings.ts'

const folder = join(import.meta.dir, 'recordings')
const transcripts = readdirSync(folder).map(
  (name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Transcript,
)

/** Answers that the scripted servers make by themselves; models they have none. */
const answers: Readonly<Record<string, RegExp>> = {
  vllm: /^(chat: (whole|stream|stream with usage|two choices)|completions: (whole|stream)|messages: (whole|stream|count_tokens)|responses: (whole|stream))$/,
  sglang:
    /^(chat: (whole|stream|stream with usage|two choices)|completions: (whole|stream)|messages: (whole|stream|count_tokens)|responses: (whole|stream))$/,
  'llama-server':
    /^(chat: (whole|stream with usage|two choices( in a stream)?|max_tokens.*)|completions: (whole|max_tokens beyond .*))$/,
  ollama:
    /^(chat: (whole|stream|stream with usage|max_tokens.*)|completions: (whole|stream|max_tokens.*)|messages: (whole|stream|max_tokens.*)|responses: (whole|stream|what would be stored|max_output_tokens.*))$/,
}

/** Depends on how the real one was started: tests of it order this refusal by itself. */
const isOfFlags = ({ check }: Recording) => check.includes('without a reasoning parser')

/** Refused at once, or after status 200: with an error event, or with an end that is none. */
const isRefusal = ({ status, events }: Recording) =>
  status >= 400 ||
  (events !== undefined && /^(error|response.in_progress|response.failed)/.test(lastOf(events)))
const lastOf = (events: readonly string[]) => events.filter((one) => one !== '[DONE]').at(-1) ?? ''

/** Whether less arrived than a server sent before it hung up. */
const isCutShort = (arrived: number, events: readonly string[] | undefined) =>
  events !== undefined && arrived < events.length && lastOf(events) === 'response.in_progress'

for (const { server: kind, version, recordings } of transcripts)
  describe(`${kind} ${version}`, () => {
    const server = startScriptedServer({
      ...{ kind, version, models: ['tiny'], contextLength: 4096 },
      ...(version.includes('Rust') ? { frontend: 'rust' as const } : {}),
      native: ['messages', 'responses'],
      reportsCache: kind !== 'ollama',
    })
    afterAll(() => server.stop())
    const replayed = recordings.filter(
      (one) => answers[kind]?.test(one.check) || (isRefusal(one) && !isOfFlags(one)),
    )
    test('the recordings have answers and refusals', () => {
      const refusals = replayed.filter(isRefusal).length
      expect(refusals).toBeGreaterThan(kind === 'llama-server' ? 3 : 12)
      expect(replayed.length - refusals).toBeGreaterThan(4)
    })
    test.each(replayed.map((one) => [one.check, one] as const))('%s', async (_, recording) => {
      const { path, body, status, events } = recording
      let answer = await straight(server.url).ask(path, body)
      // A client that learns of the hang-up early drops what it has not read yet.
      for (let turn = 0; turn < 50 && isCutShort(answer.events.length, events); turn++)
        answer = await straight(server.url).ask(path, body)
      expect(answer.status).toBe(status)
      if (recording.events !== undefined)
        expect(eventKinds(answer.events)).toEqual([...recording.events])
      else expectPart(shapeOf(answer.json), recording)
    })
  })

/** Every field that the scripted server sends is one of the real server's, of the same kind. */
function expectPart(part: Json, { shape }: Recording): void {
  expect(missing(part, shape, '')).toEqual([])
}

/** What only the scripted server has: names that tests look for where they must not come through. */
const planted = /transfer_params|cached_tokens$/

function missing(part: Json, whole: Json, at: string): string[] {
  if (part === null || whole === null) return [] // either may be left out
  if (typeof part !== 'object' || typeof whole !== 'object')
    return part === whole ? [] : [`${at}: ${JSON.stringify(part)}, not ${JSON.stringify(whole)}`]
  return Object.entries(part).flatMap(([name, value]) => {
    const place = `${at}.${name}`
    if (value === null || planted.test(place)) return []
    if (!(name in whole))
      return Array.isArray(whole) && whole.length === 0 ? [] : [`${place}: not sent`]
    return missing(value, whole[name], place)
  })
}
