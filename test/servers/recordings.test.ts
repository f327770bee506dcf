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

/** Answers and refusals that the scripted vLLM makes by itself; models it has none. */
const asVllm =
  /^(chat: (whole|stream|stream with usage|two choices|max_tokens|max_tokens beyond .*)|completions: (whole|stream|max_tokens beyond .*)|messages: (whole|stream|max_tokens beyond .*|count_tokens)|responses: (whole|stream|max_output_tokens beyond .*)|salts: .*)$/

/** The scripted llama-server has what its real one does in other ways than vLLM. */
const asLlamaServer =
  /^(chat: (whole|stream with usage|two choices( in a stream)?|max_tokens)|completions: whole)$/

for (const { server: kind, version, recordings } of transcripts)
  describe(`${kind} ${version}`, () => {
    const server = startScriptedServer({
      ...{ kind, version, models: ['tiny'], contextLength: 4096 },
      native: ['messages', 'responses'],
    })
    afterAll(() => server.stop())
    const scripted = kind === 'vllm' ? asVllm : asLlamaServer
    const replayed = recordings.filter(({ check }) => scripted.test(check))
    test('the recordings have what is replayed', () => {
      expect(replayed.length).toBeGreaterThan(kind === 'vllm' ? 15 : 4)
    })
    test.each(replayed.map((one) => [one.check, one] as const))('%s', async (_, recording) => {
      const { path, body, status } = recording
      const answer = await straight(server.url).ask(path, body)
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
