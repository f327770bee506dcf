/** Whole renderings: compared with reviewed files, and checked against Kubernetes' own schemas. */
import { expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unlessMissing } from '@privatemode/service/testing'
import { findFaults, findSchema, type KubernetesSchema } from './kubernetes-schema.ts'
import { chartFolder, type KubernetesObject, renderObjects, withoutHelm } from './render.ts'
import { scenarios } from './scenarios.ts'

const golden = join(import.meta.dir, 'golden')
const update = process.env.UPDATE_GOLDEN !== undefined

unlessMissing(withoutHelm).describe('a rendering is the one that was reviewed', () => {
  for (const { name, chart, values, options } of scenarios) {
    test(name, () => {
      const objects = renderObjects(chartFolder(chart), values, options)
      const path = join(golden, `${name}.yaml`)
      if (update) writeFileSync(path, formatObjects(objects))
      expect(existsSync(path)).toBe(true)
      // UPDATE_GOLDEN=1 rewrites the files; the difference is then reviewed like any other.
      expect(formatObjects(objects)).toBe(readFileSync(path, 'utf8'))
    })
  }
})

const versions = ['1.16', '1.30', '1.36'] as const
const found = versions.map((version) => ({ version, schema: findSchema(`kubernetes-${version}`) }))
const operators = ['prometheus', 'leaderworkerset', 'keda'] as const
const added = operators.map(findSchema).filter((schema) => schema !== undefined)

for (const { version, schema } of found) {
  const noSchema = schema === undefined || added.length < operators.length
  const missing =
    withoutHelm ?? (noSchema ? 'no schemas; run npm run task -- setup:deploy' : undefined)
  unlessMissing(missing).describe(`Kubernetes ${version} knows every field of`, () => {
    const minor = Number(version.slice(2))
    for (const { name, chart, values, options } of scenarios.filter(
      (s) => minor >= (s.since ?? 0),
    )) {
      test(name, () => {
        const kubeVersion = `${version}.0`
        const objects = renderObjects(chartFolder(chart), values, { ...options, kubeVersion })
        expect(faultsOf(objects, schema as KubernetesSchema)).toEqual([])
      })
    }
  })
}

const noLatest =
  found[2]?.schema === undefined ? 'no schemas; run npm run task -- setup:deploy' : undefined
unlessMissing(noLatest).test('the check of schemas finds faults', () => {
  const schema = found[2]?.schema as KubernetesSchema
  const service = (spec: object) => ({ apiVersion: 'v1', kind: 'Service', metadata: {}, spec })
  const right = { type: 'ClusterIP', ports: [{ port: 80, targetPort: 'http' }] }
  expect(faultsOf([service(right)], schema)).toEqual([])
  expect(faultsOf([service({ ...right, kind: 1 })], schema)).toEqual([
    'Service.spec.kind: unknown field',
  ])
  expect(faultsOf([service({ ports: [{ port: '80' }] })], schema)).toEqual([
    'Service.spec.ports[0].port: not such an integer',
  ])
  expect(faultsOf([service({ ports: [{}] })], schema)).toEqual([
    'Service.spec.ports[0].port: missing',
  ])
  const alien = { apiVersion: 'v9', kind: 'Service' }
  expect(faultsOf([alien], schema)).toEqual(['v9 Service is not a kind of this version'])
})

function faultsOf(objects: readonly KubernetesObject[], schema: KubernetesSchema): string[] {
  return objects.flatMap((object) => findFaults(object, [schema, ...added]))
}

/** Objects in a form in which only what matters can differ. */
function formatObjects(objects: readonly KubernetesObject[]): string {
  return objects.map((object) => `---\n${Bun.YAML.stringify(object, null, 2)}\n`).join('')
}
