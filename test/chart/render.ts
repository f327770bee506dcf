/** Renders a chart with the real helm and returns its objects. */
import { cpSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findTool } from '../../scripts/deploy/go-tools.ts'

export type Values = { readonly [name: string]: unknown }

/** Any object of Kubernetes; tests look into it freely. */
// biome-ignore lint/suspicious/noExplicitAny: the shapes are Kubernetes' own and checked against its schemas
export type KubernetesObject = any

export type Rendered =
  | { readonly kind: 'objects'; readonly objects: KubernetesObject[] }
  | { readonly kind: 'refused'; readonly message: string }

export type RenderOptions = {
  readonly release?: string
  readonly namespace?: string
  readonly kubeVersion?: string
}

export const chartFolder = (name: 'chart' | 'backend') =>
  join(import.meta.dir, '../../deploy', name)

export const helm = findTool('helm')
/** Why helm is missing; undefined if it is available. */
export const withoutHelm = helm.kind === 'missing' ? helm.reason : undefined

/** Runs helm in a separate home, so that the user's plugins, caches and clusters have no effect. */
export function runHelm(args: readonly string[]): { ok: boolean; stdout: string; stderr: string } {
  if (helm.kind === 'missing') throw new Error('no helm')
  const home = mkdtempSync(join(tmpdir(), 'privatemode-helm-'))
  try {
    const { exitCode, stdout, stderr } = Bun.spawnSync([helm.path, ...args], {
      env: { HOME: home, PATH: '/usr/bin:/bin' },
    })
    return { ok: exitCode === 0, stdout: stdout.toString(), stderr: stderr.toString() }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

const rendered = new Map<string, Rendered>()

export function render(folder: string, values: Values, options: RenderOptions = {}): Rendered {
  const key = JSON.stringify([folder, values, options])
  const known = rendered.get(key) ?? renderNow(folder, values, options)
  rendered.set(key, known)
  return known
}

function renderNow(folder: string, values: Values, options: RenderOptions): Rendered {
  const dir = mkdtempSync(join(tmpdir(), 'privatemode-values-'))
  const valuesPath = join(dir, 'values.json')
  writeFileSync(valuesPath, JSON.stringify(values))
  const { release = 'demo', namespace = 'apps', kubeVersion = '1.36.0' } = options
  const { ok, stdout, stderr } = runHelm([
    ...['template', release, folder, '--namespace', namespace],
    ...['--values', valuesPath, '--kube-version', kubeVersion],
  ])
  rmSync(dir, { recursive: true, force: true })
  if (!ok) return { kind: 'refused', message: stderr }
  return { kind: 'objects', objects: parseObjects(stdout) }
}

/** The notes that helm prints after an installation, which it renders for no other command. */
export function renderNotes(folder: string, values: Values, options?: RenderOptions): string {
  const copy = mkdtempSync(join(tmpdir(), 'privatemode-notes-'))
  try {
    cpSync(folder, copy, { recursive: true })
    renameSync(join(copy, 'templates/NOTES.txt'), join(copy, 'notes.txt'))
    writeFileSync(
      join(copy, 'templates/notes.yaml'),
      '{"kind": "Notes", "metadata": {}, "text": {{ tpl (.Files.Get "notes.txt") . | toJson }}}',
    )
    return find(renderObjects(copy, values, options), 'Notes').text
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/** The objects, sorted by kind and name so that they can be compared with a golden file. */
export function renderObjects(folder: string, values: Values, options?: RenderOptions) {
  const rendered = render(folder, values, options)
  if (rendered.kind === 'refused') throw new Error(rendered.message)
  return rendered.objects
}

function parseObjects(text: string): KubernetesObject[] {
  const parsed = Bun.YAML.parse(text) as KubernetesObject
  const objects = (Array.isArray(parsed) ? parsed : [parsed]).filter((object) => object !== null)
  const key = (object: KubernetesObject) => `${object.kind}/${object.metadata.name}`
  return objects.sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

export function find(objects: readonly KubernetesObject[], kind: string, name?: string) {
  const found = objects.filter(
    (object) => object.kind === kind && (name === undefined || object.metadata.name === name),
  )
  if (found.length !== 1) throw new Error(`${found.length} objects of kind ${kind} ${name ?? ''}`)
  return found[0]
}

/** `set({}, 'a.b', 1)` is `{a: {b: 1}}`; lays one value over others. */
export function withValue(values: Values, path: string, value: unknown): Values {
  const [head = '', ...rest] = path.split('.')
  const inner = (values[head] ?? {}) as Values
  return { ...values, [head]: rest.length === 0 ? value : withValue(inner, rest.join('.'), value) }
}
