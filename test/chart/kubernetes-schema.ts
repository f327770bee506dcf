/** Checks objects against Kubernetes' own API description, as strictly as an API server that refuses unknown fields. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type GoModule,
  moduleVersion,
  obtainModule,
  toolCache,
} from '../../scripts/deploy/go-tools.ts'
import type { KubernetesObject } from './render.ts'

type Schema = {
  readonly $ref?: string
  readonly type?: string
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly minimum?: number
  readonly required?: readonly string[]
  readonly properties?: { readonly [name: string]: Schema }
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
}
type Definition = Schema & {
  readonly 'x-kubernetes-group-version-kind'?: readonly {
    readonly group: string
    readonly version: string
    readonly kind: string
  }[]
}
export type KubernetesSchema = {
  readonly definitions: { readonly [name: string]: Schema }
  /** Name of the definition of `apiVersion/kind`. */
  readonly kinds: { readonly [kind: string]: string }
}

const cachePath = (module: GoModule) =>
  join(toolCache(), `schema-${module}-${moduleVersion(module)}.json`)

/** The schemas of a module if already obtained; nothing is fetched. */
export function findSchema(module: GoModule): KubernetesSchema | undefined {
  const path = cachePath(module)
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as KubernetesSchema) : undefined
}

/** Fetches a module and keeps its schemas; returns the reason if that fails. */
export function obtainSchema(module: GoModule): string | undefined {
  if (existsSync(cachePath(module))) return undefined
  const obtained = obtainModule(module)
  if (obtained.kind === 'missing') return obtained.reason
  const schema = module.startsWith('kubernetes')
    ? fromSwagger(obtained.path)
    : fromCrds(obtained.path, module)
  mkdirSync(toolCache(), { recursive: true })
  writeFileSync(cachePath(module), JSON.stringify(schema))
  return undefined
}

function fromSwagger(folder: string): KubernetesSchema {
  const text = readFileSync(join(folder, 'api/openapi-spec/swagger.json'), 'utf8')
  const { definitions } = JSON.parse(text) as { definitions: { [name: string]: Definition } }
  const kinds: { [kind: string]: string } = {}
  for (const [name, definition] of Object.entries(definitions)) {
    for (const gvk of definition['x-kubernetes-group-version-kind'] ?? []) {
      kinds[kindKey(gvk.group === '' ? gvk.version : `${gvk.group}/${gvk.version}`, gvk.kind)] =
        name
    }
  }
  return { definitions, kinds }
}

const crdFolders: { readonly [module: string]: string } = {
  prometheus: 'example/prometheus-operator-crd',
  leaderworkerset: 'config/crd/bases',
  keda: 'config/crd/bases',
}

function fromCrds(module: string, name: GoModule): KubernetesSchema {
  const folder = join(module, crdFolders[name] ?? '')
  const definitions: { [name: string]: Schema } = {}
  const kinds: { [kind: string]: string } = {}
  for (const file of readdirSync(folder).filter((entry) => entry.endsWith('.yaml'))) {
    const { spec } = Bun.YAML.parse(readFileSync(join(folder, file), 'utf8')) as KubernetesObject
    if (spec?.versions === undefined) continue
    for (const version of spec.versions) {
      const key = kindKey(`${spec.group}/${version.name}`, spec.names.kind)
      const schema = version.schema.openAPIV3Schema
      // The API server knows what is in here; the definition of a resource does not say it.
      definitions[key] = { ...schema, properties: { ...schema.properties, metadata: {} } }
      kinds[key] = key
    }
  }
  return { definitions, kinds }
}

const kindKey = (apiVersion: string, kind: string) => `${apiVersion} ${kind}`

/** Everything that is wrong with an object; empty if it is valid. */
export function findFaults(
  object: KubernetesObject,
  schemas: readonly KubernetesSchema[],
): string[] {
  const key = kindKey(object.apiVersion, object.kind)
  for (const schema of schemas) {
    const name = schema.kinds[key]
    if (name !== undefined)
      return check(object, { $ref: `#/definitions/${name}` }, object.kind, schema)
  }
  return [`${key} is not a kind of this version`]
}

function check(value: unknown, given: Schema, path: string, root: KubernetesSchema): string[] {
  const schema =
    given.$ref === undefined ? given : root.definitions[given.$ref.replace('#/definitions/', '')]
  if (schema === undefined) return [`${path}: the schema is not there`]
  if (value === null) return [] // a field that is not set
  if (schema.enum !== undefined && !schema.enum.includes(value))
    return [`${path}: ${value} is not one of the choices`]
  if (schema['x-kubernetes-int-or-string'] || schema.format === 'int-or-string') {
    return ['string', 'number'].includes(typeof value) ? [] : [`${path}: neither text nor number`]
  }
  switch (schema.type) {
    case 'string':
      return checkText(value, schema, path, given.$ref)
    case 'integer':
      return Number.isInteger(value) && (value as number) >= (schema.minimum ?? -Infinity)
        ? []
        : [`${path}: not such an integer`]
    case 'number':
      return typeof value === 'number' ? [] : [`${path}: not a number`]
    case 'boolean':
      return typeof value === 'boolean' ? [] : [`${path}: not a boolean`]
    case 'array':
      if (!Array.isArray(value)) return [`${path}: not a list`]
      return value.flatMap((entry, index) =>
        check(entry, schema.items ?? {}, `${path}[${index}]`, root),
      )
    default:
      return checkObject(value, schema, path, root)
  }
}

function checkText(
  value: unknown,
  schema: Schema,
  path: string,
  ref: string | undefined,
): string[] {
  if (typeof value === 'number' && ref?.endsWith('resource.Quantity')) return []
  if (typeof value !== 'string') return [`${path}: not text`]
  return schema.pattern === undefined || new RegExp(schema.pattern).test(value)
    ? []
    : [`${path}: not of the form ${schema.pattern}`]
}

function checkObject(
  value: unknown,
  schema: Schema,
  path: string,
  root: KubernetesSchema,
): string[] {
  const { properties, additionalProperties: others } = schema
  if (schema.type === undefined && properties === undefined) return []
  if (typeof value !== 'object' || Array.isArray(value)) return [`${path}: not an object`]
  const fields = value as { [name: string]: unknown }
  const absent = (schema.required ?? []).filter((name) => fields[name] === undefined)
  const open =
    schema['x-kubernetes-preserve-unknown-fields'] ||
    others === true ||
    (properties === undefined && others === undefined)
  return [
    ...absent.map((name) => `${path}.${name}: missing`),
    ...Object.entries(fields).flatMap(([name, field]) => {
      const inner = properties?.[name] ?? (typeof others === 'object' ? others : undefined)
      if (inner !== undefined) return check(field, inner, `${path}.${name}`, root)
      return open ? [] : [`${path}.${name}: unknown field`]
    }),
  ]
}
