/** Changes every field of a manifest in every way, and verifies a good worker under the result. */
import { utf8 } from '../bytes.ts'
import { parseManifest } from '../manifest/manifest.ts'
import type { JsonObject, JsonValue } from '../strict-json.ts'
import { AttestationError } from '../verdict.ts'
import { verifyWorker } from '../verify-worker.ts'
import { newSigner } from './memory-log.ts'
import { softwareWorld } from './software-world.ts'

export type ManifestMutations = {
  changed: number
  refused: number
  /** Accepted, because the field may be absent or does not affect the verdict. */
  readonly justified: string[]
  readonly survivors: string[]
}

export type Mutant = { readonly what: string; readonly document: JsonValue }

// Changing these changes what people see or how long a session lasts; the log, which signs the
// whole document, detects that (`mutateSoftware` flips every bit of it).
const undecisive = [
  'issued_at',
  'serial',
  'session_minutes',
  'models[0].tasks[0]',
  'models[0].context_length',
  'models[0].display_name',
  'models[0].created',
  'log_key',
]
const optional = ['roles.proxyless', 'session_minutes', 'log_key', 'expires_at', 'revocation']

/** Values that are valid for their field but differ from the good ones. */
const otherValues: { readonly [path: string]: JsonValue } = {
  issued_at: '2026-02-01T00:00:00Z',
  expires_at: '2026-03-01T12:00:00Z',
  evidence: 'hardware',
  session_minutes: 5,
  'models[0].id': 'other',
  'models[0].digest': `sha256:${'0'.repeat(64)}`,
  'models[0].tasks[0]': 'embed',
  'models[0].display_name': 'other',
}

export async function mutateManifest(): Promise<ManifestMutations> {
  const world = await softwareWorld()
  const logKey = (await newSigner('log.example')).verifierKey
  const good = await world.inputs({ draft: { logKey } })
  const document: JsonValue = JSON.parse(new TextDecoder().decode(good.manifest.bytes))
  const verify = async (mutant: JsonValue) => {
    const manifest = await parseManifest(utf8(JSON.stringify(mutant)))
    await verifyWorker({ ...good, manifest })
  }
  await verify(document)
  return judge([...mutants(document, '', (value) => value)], verify)
}

/** Structural changes only, for documents that are parsed and not appraised. */
export async function mutateForm(document: JsonValue): Promise<ManifestMutations> {
  const verify = async (mutant: JsonValue) => parseManifest(utf8(JSON.stringify(mutant)))
  await verify(document)
  const structural = [...mutants(document, '', (value) => value)].filter(
    ({ what }) => !what.endsWith(': another value'),
  )
  return judge(structural, verify)
}

/** The document with one value changed, once for each of its values. */
export function changedValues(document: JsonValue): Mutant[] {
  const all = [...mutants(document, '', (value) => value)]
  return all.filter(({ what }) => what.endsWith(': another value'))
}

async function judge(
  list: readonly Mutant[],
  verify: (document: JsonValue) => Promise<unknown>,
): Promise<ManifestMutations> {
  const result: ManifestMutations = { changed: 0, refused: 0, justified: [], survivors: [] }
  for (const { what, document } of list) {
    result.changed += 1
    const outcome = await verify(document).then(
      () => 'accepted',
      (error) => (error instanceof AttestationError ? 'refused' : `crashed: ${error}`),
    )
    if (outcome === 'refused') result.refused += 1
    else if (outcome === 'accepted' && isJustified(what)) result.justified.push(what)
    else result.survivors.push(`${what} (${outcome})`)
  }
  return result
}

function isJustified(what: string): boolean {
  const [path = '', change] = what.split(': ')
  // Without a rule about devices there may be none: that describes a different machine, not a laxer
  // rule.
  if (change === 'removed') return optional.includes(path) || /accept\[\d+\]\.devices$/.test(path)
  return (
    change === 'another value' && (undecisive.includes(path) || path.startsWith('roles.proxyless'))
  )
}

function* mutants(
  value: JsonValue,
  path: string,
  whole: (changed: JsonValue) => JsonValue,
): Generator<Mutant> {
  const mutant = (change: string, changed: JsonValue): Mutant => ({
    what: `${path}: ${change}`,
    document: whole(changed),
  })
  yield mutant('null', null)
  yield mutant('wrong type', typeof value === 'string' ? 7 : 'text')
  yield mutant('wrong type, array', Array.isArray(value) ? {} : [])
  if (Array.isArray(value)) {
    const items = value as readonly JsonValue[]
    for (const [index, item] of items.entries()) {
      const put = (changed: JsonValue) => whole(items.with(index, changed))
      yield* mutants(item, `${path}[${index}]`, put)
    }
  } else if (typeof value === 'object' && value !== null) {
    yield mutant('unknown field', { ...value, surprise: 1 })
    for (const [name, member] of Object.entries(value as JsonObject)) {
      const { [name]: _, ...rest } = value as JsonObject
      const inner = path === '' ? name : `${path}.${name}`
      yield { what: `${inner}: removed`, document: whole(rest) }
      yield { what: `${inner}: renamed`, document: whole({ ...rest, [`${name}_x`]: member }) }
      yield* mutants(member, inner, (changed) => whole({ ...value, [name]: changed }))
    }
  } else {
    yield mutant('another value', otherValues[path] ?? anotherValue(value))
  }
}

function anotherValue(value: JsonValue): JsonValue {
  if (typeof value === 'number') return value + 1
  if (typeof value === 'boolean') return !value
  const text = String(value)
  // Changes the first character: another digit in hex, another name otherwise.
  return `${text.startsWith('0') ? '1' : '0'}${text.slice(1)}`
}
