/** Every scenario of the charts before the real API server: schemas, defaults, admission, and the security standards. */
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { repository } from '../../scripts/deploy/locked-package.ts'
import { logKey } from '../chart/proxy-config-effects.ts'
import {
  chartFolder,
  type KubernetesObject,
  render,
  type Values,
  withValue,
} from '../chart/render.ts'
import { type Scenario, scenarios } from '../chart/scenarios.ts'
import { must, type Rows } from '../confined/rows.ts'
import { type Cluster, listOf } from './cluster.ts'

const namespace = 'objects'

/** What some parts need of their machine is against the strictest standard, and is said so in the values. */
const unrestricted = new Set(['backend-many-nodes'])

export async function tryObjects(cluster: Cluster, rows: Rows): Promise<void> {
  await cluster.kubectl(['create', 'namespace', namespace])
  // Controllers would make it, but none runs yet.
  await cluster.kubectl(['-n', namespace, 'create', 'serviceaccount', 'default'])
  await cluster.kubectl([
    ...['label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted'],
    'pod-security.kubernetes.io/warn=restricted',
  ])
  for (const { name, chart, values, options } of [...scenarios, ...examples()]) {
    if (options?.kubeVersion !== undefined) continue
    await rows.try(`the API server takes every object of ${name}`, async () => {
      const rendered = render(chartFolder(chart), values, { namespace })
      must(rendered.kind === 'objects', rendered.kind === 'refused' ? rendered.message : '')
      const kinds = await dryRun(cluster, rendered.objects)
      if (unrestricted.has(name)) return kinds
      return `${kinds}; ${await tryPods(cluster, rendered.objects)}`
    })
  }
  await rows.try('a pod without the charts’ security settings is refused there', async () => {
    const pod = podOf('loose', { containers: [{ name: 'one', image: 'registry.internal/one' }] })
    const { code, errors } = await dryRunOf(cluster, [pod])
    must(code !== 0 && /violates PodSecurity "restricted/.test(errors), `not refused: ${errors}`)
    return 'violates PodSecurity "restricted:latest"'
  })
}

/** The values files of deploy/examples; the proxy's gets its key from the command line. */
export function examples(): Scenario[] {
  const read = (file: string) =>
    Bun.YAML.parse(readFileSync(join(repository, 'deploy/examples', file), 'utf8')) as Values
  const backends = ['trial', 'production', 'many-gpus'].map((name): Scenario => {
    return { name: `deploy/examples/${name}.yaml`, chart: 'backend', values: read(`${name}.yaml`) }
  })
  const values = withValue(read('proxy.yaml'), 'config.manifestLogKey', logKey)
  return [...backends, { name: 'deploy/examples/proxy.yaml', chart: 'chart', values }]
}

/** Kinds of other projects that the charts make objects of. */
export async function defineKinds(
  cluster: Cluster,
  definitions: readonly string[],
): Promise<string> {
  for (const path of definitions) await cluster.kubectl(['apply', '--server-side', '-f', path])
  const names = definitions.map((path) => basename(path).replace(/^.*_|\.yaml$|crd\.yaml$/g, ''))
  await cluster.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s'])
  return names.join(', ')
}

async function dryRun(cluster: Cluster, objects: readonly KubernetesObject[]): Promise<string> {
  const { code, errors } = await dryRunOf(cluster, objects)
  must(code === 0, errors)
  const kinds = new Set(objects.map(({ kind }) => kind as string))
  return `${objects.length} objects: ${[...kinds].toSorted().join(', ')}`
}

/** Templates are only warned about; pods are refused. */
async function tryPods(cluster: Cluster, objects: readonly KubernetesObject[]): Promise<string> {
  const pods = objects.flatMap((object) => {
    const template =
      object.spec?.jobTemplate?.spec?.template ??
      object.spec?.leaderWorkerTemplate?.leaderTemplate ??
      object.spec?.template
    if (template?.spec?.containers === undefined) return []
    // Accounts and classes of runtimes and priorities are looked up; they are not what is tried here.
    const {
      serviceAccountName: _,
      runtimeClassName: __,
      priorityClassName: ___,
      ...spec
    } = template.spec
    return [podOf(object.metadata.name, spec)]
  })
  const { code, errors } = await dryRunOf(cluster, pods)
  must(code === 0, errors)
  return `${pods.length} pods in a restricted namespace`
}

function podOf(name: string, spec: object): object {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace }, spec }
}

function dryRunOf(cluster: Cluster, objects: readonly object[]) {
  return cluster.tryKubectl(
    ['-n', namespace, 'create', '--dry-run=server', '--validate=strict', '-f', '-'],
    { input: listOf(objects) },
  )
}
