/** A manifest as a readable document, and the differences between two of them. */

export type ManifestFact = { readonly name: string; readonly value: string }

export type ReadableManifest = {
  readonly serial: number | undefined
  readonly issuedAt: string | undefined
  readonly facts: readonly ManifestFact[]
}

export type Difference = {
  /** The location in the document, such as `models[0].id`. */
  readonly path: string
  /** Undefined if it was added or removed. */
  readonly before: string | undefined
  readonly after: string | undefined
}

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** Undefined if the text is not a JSON object. */
export function describeManifest(text: string): ReadableManifest | undefined {
  const document = parseObject(text)
  if (document === undefined) return undefined
  const { serial, issued_at, expires_at, evidence, models, session_minutes } = document
  const facts: ManifestFact[] = [
    { name: 'Evidence it asks for', value: textOf(evidence) },
    ...rulesOf(document),
    ...(Array.isArray(models) ? models : []).map((model, index) => ({
      name: `Model ${index + 1}`,
      value: describeModel(model),
    })),
    ...(session_minutes === undefined
      ? []
      : [{ name: 'Verification valid for', value: `${textOf(session_minutes)} minutes` }]),
    { name: 'Expires', value: expires_at === undefined ? 'not specified' : textOf(expires_at) },
  ]
  return {
    serial: typeof serial === 'number' ? serial : undefined,
    issuedAt: typeof issued_at === 'string' ? issued_at : undefined,
    facts,
  }
}

/** Field by field, in the order of the documents. */
export function compareManifests(before: string, after: string): readonly Difference[] {
  const [old, now] = [flatten(parseObject(before) ?? {}), flatten(parseObject(after) ?? {})]
  const paths = [...new Set([...now.keys(), ...old.keys()])]
  return paths
    .map((path) => ({ path, before: old.get(path), after: now.get(path) }))
    .filter((one) => one.before !== one.after)
}

function rulesOf(document: { readonly [name: string]: Json }): ManifestFact[] {
  const roles = (document.roles ?? {}) as { readonly [role: string]: { readonly accept?: Json } }
  return Object.entries(roles).flatMap(([role, policy]) => {
    const rules = Array.isArray(policy?.accept) ? policy.accept : []
    return rules.map((rule) => ({ name: `Accepted as ${role}`, value: describeRule(rule) }))
  })
}

const kinds: Readonly<Record<string, string>> = {
  snp: 'AMD SEV-SNP',
  tdx: 'Intel TDX',
  software: 'Software (trial)',
}

function describeRule(rule: Json): string {
  const fields = flatten(rule)
  const kind = fields.get('kind') ?? '?'
  const measured = [...fields].filter(
    ([path, value]) => /^[0-9a-f]{64,96}$/.test(value) && !/root|key|chip/.test(path),
  )
  const values = measured.map(([, value]) => value)
  const devices = [...fields.keys()].some((path) => path.startsWith('devices'))
  return [
    kinds[kind] ?? kind,
    values.length === 0 ? 'no measurement named' : `measuring ${values.join(', ')}`,
    ...(devices ? ['with NVIDIA GPUs in confidential mode'] : []),
  ].join(', ')
}

function describeModel(model: Json): string {
  const fields = flatten(model)
  const digest = [...fields].find(([, value]) => /^[0-9a-f]{64}$/.test(value))?.[1]
  return [fields.get('id') ?? '?', ...(digest === undefined ? [] : [`weights ${digest}`])].join(
    ', ',
  )
}

function flatten(value: Json, path = '', found = new Map<string, string>()): Map<string, string> {
  if (typeof value !== 'object' || value === null) found.set(path, textOf(value))
  else if (Array.isArray(value)) {
    for (const [index, one] of value.entries()) flatten(one, `${path}[${index}]`, found)
  } else {
    for (const [name, one] of Object.entries(value)) {
      flatten(one, path === '' ? name : `${path}.${name}`, found)
    }
  }
  return found
}

const textOf = (value: Json | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null)

function parseObject(text: string): { readonly [name: string]: Json } | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
    return isObject ? (parsed as { readonly [name: string]: Json }) : undefined
  } catch {
    return undefined
  }
}
