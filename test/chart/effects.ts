/** What tests of the charts ask about rendered objects. */
import { find, type KubernetesObject, type Values } from './render.ts'

/** One value: the values it is laid over, what to set, and what must then hold that did not before. */
export type Effect = {
  readonly over?: Values
  readonly and?: Values
  readonly value: unknown
  readonly holds: (objects: readonly KubernetesObject[]) => boolean
}

export const pod = (objects: readonly KubernetesObject[]) =>
  find(objects, 'Deployment').spec.template
export const container = (objects: readonly KubernetesObject[]) => pod(objects).spec.containers[0]
export const has = (objects: readonly KubernetesObject[], kind: string) =>
  objects.some((object) => object.kind === kind)
export const same = (a: unknown, b: unknown) => Bun.deepEquals(a, b)

export const flag = (text: string) => (objects: readonly KubernetesObject[]) =>
  container(objects).args.includes(text)
/** A file from a secret or config map, mounted read-only where a flag or variable names it. */
export const mounted =
  (source: 'secret' | 'configMap' | 'persistentVolumeClaim', name: string, path: string) =>
  (objects: readonly KubernetesObject[]) => {
    const volume = pod(objects).spec.volumes.find(
      (entry: KubernetesObject) =>
        (entry[source]?.secretName ?? entry[source]?.name ?? entry[source]?.claimName) === name,
    )
    return container(objects).volumeMounts.some(
      (mount: KubernetesObject) => mount.name === volume?.name && mount.mountPath === path,
    )
  }

export const variable =
  (name: string, value: string) =>
  (objects: readonly KubernetesObject[]): boolean =>
    (container(objects).env ?? []).some((entry: KubernetesObject) => same(entry, { name, value }))

/** Ports that the network policy lets the pod reach, besides those for names. */
export function outwardPorts(objects: readonly KubernetesObject[]): number[] {
  const rule = find(objects, 'NetworkPolicy').spec.egress[1]
  return rule.ports.map((entry: KubernetesObject) => entry.port)
}

/** Paths of all values; lists, and the maps named in `whole`, count as one. */
export function leaves(values: Values, whole: readonly string[], prefix = ''): string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const path = `${prefix}${name}`
    const deeper = isMap(value) && Object.keys(value).length > 0 && !whole.includes(path)
    return deeper ? leaves(value, whole, `${path}.`) : [path]
  })
}

export function merge(under: Values, over: Values): Values {
  const merged: { [name: string]: unknown } = { ...under }
  for (const [name, value] of Object.entries(over)) {
    const old = merged[name]
    const both = isMap(old) && isMap(value)
    merged[name] = both ? merge(old, value) : value
  }
  return merged
}

const isMap = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
