/** Parsers of model output, of other model servers' streams, and of what a machine reports to its worker. */
import { parseSafetensors } from '../../apps/stack/src/models/safetensors.ts'
import { sliceJson } from '../../apps/verify/src/files/json-slices.ts'
import { readPieces } from '../../apps/verify/src/files/read-pieces.ts'
import { parseCertificateTable } from '../../apps/worker/src/evidence/collateral/certificate-table.ts'
import { parseGpuOutput } from '../../apps/worker/src/evidence/gpu/parse-gpu-output.ts'
import type { JsonObject } from '../../packages/inference/src/engine.ts'
import { HarmonyOutput } from '../../packages/inference/src/llama/output/harmony-output.ts'
import type {
  OutputPart,
  OutputReader,
} from '../../packages/inference/src/llama/output/output-part.ts'
import { PlainOutput } from '../../packages/inference/src/llama/output/plain-output.ts'
import { assembleNative } from '../../packages/inference/src/servers/assemble-message.ts'
import { messageEvents, responseEvents } from './samples.ts'
import { Disagreement, type FuzzTarget, json, parseOr, requireSame, text } from './target.ts'

const nonce = 'ab'.repeat(32)
const base64 = (value: string) => Buffer.from(value).toString('base64')

/** What a reader tells of a text, neighbours of one kind joined: how it was cut must not matter. */
function readOutput(reader: OutputReader, pieces: readonly string[]): OutputPart[] {
  const parts = [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end(false)]
  const joined: OutputPart[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if (last?.kind === part.kind && 'text' in last && 'text' in part && sameCall(last, part)) {
      joined[joined.length - 1] = { ...last, text: last.text + part.text }
    } else joined.push(part)
  }
  return joined
}

const callOf = (part: OutputPart) => ('index' in part ? part.index : undefined)
const sameCall = (a: OutputPart, b: OutputPart) => callOf(a) === callOf(b)

function requireSameParts(bytes: Uint8Array, open: () => OutputReader): void {
  const whole = new TextDecoder().decode(bytes)
  const pieces: string[] = []
  for (let at = 0, turn = bytes.length; at < whole.length; turn++) {
    const length = 1 + ((whole.charCodeAt(at) * 7 + turn * 13) % 11)
    pieces.push(whole.slice(at, at + length))
    at += length
  }
  requireSame('parts', readOutput(open(), [whole]), readOutput(open(), pieces))
}

async function* eventsOf(value: unknown): AsyncGenerator<JsonObject> {
  for (const event of Array.isArray(value) ? value : []) {
    if (typeof event === 'object' && event !== null) yield event as JsonObject
  }
}

function certificateTable(): Uint8Array {
  const table = new Uint8Array(24 * 2 + 8)
  table.set(Buffer.from('63da758de6644564adc5f4b93be8accd', 'hex'))
  const view = new DataView(table.buffer)
  view.setUint32(16, 48, true)
  view.setUint32(20, 8, true)
  return table
}

function tensors(): Uint8Array {
  const header = JSON.stringify({ a: { dtype: 'F32', shape: [1], data_offsets: [0, 4] } })
  const file = new Uint8Array(8 + header.length + 4)
  new DataView(file.buffer).setBigUint64(0, BigInt(header.length), true)
  file.set(text(header), 8)
  return file
}

export const machineTargets: readonly FuzzTarget[] = [
  {
    name: 'text of a model',
    seeds: [
      text(
        '<think>\nhm</think>\n\nhello <tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
      ),
      text('<tool_call>{"arguments":{},"name":"g"}</tool_call><tool_call>no call</tool_call>'),
    ],
    read(bytes) {
      for (const startsInReasoning of [false, true]) {
        requireSameParts(bytes, () => new PlainOutput({ startsInReasoning, hasTools: true }))
      }
    },
  },
  {
    name: 'text in channels',
    seeds: [
      text(
        '<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.f ' +
          '<|constrain|>json<|message|>{"a":1}<|call|>',
      ),
    ],
    read: (bytes) => requireSameParts(bytes, () => new HarmonyOutput()),
  },
  {
    name: 'events of a message',
    seeds: [json(messageEvents)],
    read: (bytes) => assembleNative('messages', eventsOf(parseOr(bytes, []))),
  },
  {
    name: 'events of a response',
    seeds: [json(responseEvents)],
    read: (bytes) => assembleNative('responses', eventsOf(parseOr(bytes, []))),
  },
  {
    name: 'certificate table',
    seeds: [certificateTable()],
    read: (bytes) => parseCertificateTable(bytes),
  },
  {
    name: 'output about GPUs',
    // Good reports are with the targets of attestation; the corpus has some that are none.
    seeds: [json([]), json({ evidences: [], result_code: 0 })],
    read(bytes) {
      const count = new TextDecoder().decode(bytes).split('"arch"').length - 1
      parseGpuOutput(bytes, nonce, count)
    },
  },
  { name: 'tensors of a model', seeds: [tensors()], read: (bytes) => parseSafetensors(bytes) },
  {
    name: 'members of JSON',
    seeds: [json({ a: [{ b: '"}' }], 'c,': { d: null } }), json([[1], { e: 2 }])],
    read(bytes) {
      const whole = new TextDecoder().decode(bytes)
      const slices = sliceJson(whole, { maxDepth: 8, count: () => {} })
      if (slices === undefined || slices.kind === 'leaf') return
      const parsed = JSON.parse(whole)
      if (slices.kind === 'array') {
        requireSame(
          'items',
          slices.items.map(({ text }) => JSON.parse(text)),
          parsed,
        )
        return
      }
      if (Object.keys(parsed).length !== slices.members.size) throw new Disagreement('members')
      for (const [name, member] of slices.members) {
        requireSame(
          'member',
          JSON.parse(member.text),
          Object.getOwnPropertyDescriptor(parsed, name)?.value,
        )
      }
    },
  },
  {
    name: 'file of evidence',
    seeds: [json({ report: base64('r'), list: [base64('s')] })],
    read: (bytes) => readPieces(bytes),
  },
]
