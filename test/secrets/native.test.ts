/** Marked secrets through everything that the native library may refuse; then every output is searched. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chatPath, startLimitMs } from '../clients/client-stack.ts'
import { story, storyModel, vectorModel } from '../clients/embedded-stack.ts'
import { Entrance } from '../clients/entrance.ts'
import { type RunningStack, runStack } from '../e2e/running-stack.ts'
import { modelPath } from '../story-model.ts'
import { filesBelow, findLeaks } from './outputs.ts'

const secrets = {
  property: 'Rosalind_Featherstonehaugh',
  value: 'diagnosis of Percival Underhill-Blythe',
  pattern: 'QuixoticZebraOfMontaigne',
  tool: 'transfer_Wetherby_trust',
  description: 'words about Hortensia Gallowglass',
  prompt: 'a letter from Ignatius Thornbury-Vale',
  stop: 'halt before Clementine Ashgrove',
  input: 'vector of Barnaby Loxley-Sparrow',
} as const
const home = mkdtempSync(join(tmpdir(), 'privatemode-native-'))
let stack: RunningStack
let proxy: Entrance

beforeAll(async () => {
  const models = ['--chatModel', await modelPath(storyModel)]
  models.push('--embedModel', await modelPath(vectorModel))
  stack = await runStack([...models, '--logLevel', 'debug'], home)
  proxy = new Entrance('proxy', () => ({ url: stack.proxyUrl, apiKey: undefined, ca: undefined }))
}, startLimitMs)

afterAll(async () => {
  await stack.stop()
  rmSync(home, { recursive: true, force: true })
}, 240_000)

const { property, value, pattern, tool, description, prompt, stop, input } = secrets
const marks = { [property]: { enum: [value], description }, pattern: { type: 'string', pattern } }

/** Schemas that the library refuses, each for a different reason, with markers around the cause. */
const refusedSchemas: readonly object[] = [
  // Rules that begin with themselves.
  { anyOf: [{ $ref: '#' }, { type: 'object', properties: marks }] },
  {
    type: 'object',
    properties: { ...marks, endless: { anyOf: [{ $ref: '#/properties/endless' }, { const: 1 }] } },
    required: ['endless'],
  },
  // Repetitions beyond the library's limits, in sum.
  {
    type: 'object',
    properties: {
      ...marks,
      long: { type: 'array', items: { type: 'string', minLength: 1900 }, minItems: 1900 },
      wide: { type: 'string', pattern: `((${pattern}{1900}){1900}){1900}` },
    },
    required: ['long', 'wide'],
  },
  // Texts that a grammar has to escape, and some that it cannot have.
  { enum: [`${value}\u0000`, `${value}\ud800`, `${value}"\\]`, `${value}\u2028`] },
  { type: 'object', properties: { [`${property}\u0000"\\`]: { const: value } } },
  { type: 'string', pattern: `${pattern}[^\\u0000-\\uffff]` },
  { type: 'string', pattern: `[${pattern}-\\]]{0,2000}(${pattern}|)*` },
]

test('no output of the native library reaches a log, whatever it refuses', async () => {
  const statuses: number[] = []
  const ask = async (path: string, body: object) => {
    statuses.push((await proxy.ask(path, body)).status)
  }
  for (const schema of refusedSchemas) {
    for (const strict of [true, false]) {
      const json_schema = { name: tool, strict, schema }
      const response_format = { type: 'json_schema', json_schema }
      await ask(chatPath, story(prompt, { response_format }))
    }
    const tools = [{ type: 'function', function: { name: tool, description, parameters: schema } }]
    await ask(chatPath, story(prompt, { tools, tool_choice: 'required' }))
    await ask(chatPath, story(prompt, { tools, stream: true }))
  }
  await ask(chatPath, story(`${prompt} `.repeat(2000)))
  await ask(chatPath, story(prompt, { stop: [stop], logit_bias: { 999999999: 1 } }))
  await ask('/v1/completions', { model: storyModel, prompt: [[999_999_999]], max_tokens: 2 })
  await ask('/v1/completions', { model: storyModel, prompt: '', max_tokens: 2 })
  await ask('/v1/embeddings', { model: vectorModel, input: [`${input} `.repeat(2000), ''] })
  expect(statuses).toContain(400)
  // Few schemas still reach the library's refusals, so it may not have printed anything to be dropped.
  if (process.platform === 'linux')
    for (const descriptor of [1, 2])
      expect(readlinkSync(`/proc/${stack.pidOf('worker')}/fd/${descriptor}`)).toContain('memfd:')
  const outputs = [
    { place: 'what the stack prints', bytes: Buffer.from(stack.output()) },
    ...filesBelow(home, ['api-key', 'keys/', 'models/']),
  ]
  expect(findLeaks(outputs, Object.values(secrets))).toEqual([])
}, 120_000)
