/**
 * Every documented value of both charts, set one by one: its effect is in the pod that the node runs, or where it
 * concerns no pod, in the object that the API server keeps.
 *
 * The values and what must hold with them are those of the tests of the charts. A pod is created from the rendered
 * template itself, without its deployment, so that nothing else of the release has to run beside it.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { backendEffects } from '../chart/backend-effects.ts'
import { backend, chat } from '../chart/backend-values.ts'
import { type Effect, merge } from '../chart/effects.ts'
import { gatewayEffects } from '../chart/gateway-effects.ts'
import { clusterEffects } from '../chart/proxy-cluster-effects.ts'
import { configEffects, minimal } from '../chart/proxy-config-effects.ts'
import { chartFolder, renderObjects, type Values, withValue } from '../chart/render.ts'
import { workerEffects, workerWith } from '../chart/worker-effects.ts'
import { nodeName } from '../confined/prepare-namespaces.ts'
import { must } from '../confined/rows.ts'
import type { Cluster, Json } from './cluster.ts'
import { localVolume } from './postgres-in-cluster.ts'
import type { Scene } from './scene.ts'

/** One value: the objects without and with it, and what must then hold. */
type Case = {
  readonly path: string
  readonly before: readonly Json[]
  readonly after: readonly Json[]
  readonly holds: Effect['holds']
}

const namespace = 'values'
/** Where nothing exists: objects are created there without being kept. */
const dryNamespace = 'values-dry'

/** What cannot start here, with the value set, and why. */
const notStarted: Readonly<Record<string, string>> = {
  'image.repository': 'no such image',
  'image.tag': 'no such image',
  'image.digest': 'no such image',
  'images.gateway': 'no such image',
  'images.worker': 'no such image',
  'images.verify': 'no such image',
  'images.tag': 'no such image',
  vllmImage: 'no such image',
  workers: 'no such image',
  attestGpus: 'no GPU to attest',
  runtimeClassName: 'no confidential machine',
  workerResources: 'the node may have fewer processors',
  mountTsm: 'no confidential machine',
  flags: 'no confidential machine',
}

const reasonToWait = (path: string): string | undefined =>
  path.startsWith('manifestHost.') ? 'no web server in the registry' : notStarted[path]

export async function tryValues({ cluster, rows, page }: Scene): Promise<void> {
  const secrets = readSecrets(join(page.folder, 'cluster'))
  const charts = [
    ["the proxy's chart", () => proxyCases()],
    ["the backend's chart", () => backendCases()],
    ['a worker', () => workerCases()],
  ] as const
  await prepare(cluster)
  try {
    for (const [name, cases] of charts) {
      await rows.try(`every value of ${name} has its effect on what runs`, () =>
        tryCases(cluster, cases(), secrets),
      )
    }
  } finally {
    await cluster.kubectl(['delete', 'namespace', namespace, dryNamespace, '--wait=false'])
  }
}

function proxyCases(): Case[] {
  const chart = chartFolder('chart')
  return Object.entries({ ...configEffects, ...clusterEffects }).map(([path, effect]) =>
    caseOf(chart, path, merge(effect.over ?? minimal, effect.and ?? {}), effect),
  )
}

/** With the names that our images have in the registry. */
const images = {
  gateway: 'registry.internal/privatemode-gateway',
  worker: 'registry.internal/privatemode-worker',
}
/** Several run beside each other on a small node. */
const small = { requests: { cpu: '10m', memory: '64Mi' } }
const runnable = {
  ...{ ...chat, gpus: 0, vllmImage: 'registry.internal/vllm-openai:v0.32.0' },
  softwareIdentitySecret: 'identity',
  workerResources: small,
}
const here = merge(backend, { images, workers: [runnable], gateway: { resources: small } })

function backendCases(): Case[] {
  const chart = chartFolder('backend')
  return Object.entries({ ...backendEffects, ...gatewayEffects }).map(([path, effect]) => {
    const base = merge(here, merge(effect.over ?? {}, effect.and ?? {}))
    const ours = { images: { ...(base.images as Values), ...images } }
    const proxyless = merge((base.proxyless ?? {}) as Values, { image: minimal.image })
    return caseOf(chart, path, { ...base, ...ours, proxyless }, effect)
  })
}

function workerCases(): Case[] {
  const chart = chartFolder('backend')
  return Object.entries(workerEffects).map(([path, { and = {}, value, holds }]) => {
    // The node says that it has GPUs, where a value needs one.
    const { [path as 'gpus']: _, softwareIdentitySecret, ...others } = runnable
    const identity = hardware.includes(path) ? {} : { softwareIdentitySecret }
    const own = { ...others, gpus: needGpu.includes(path) ? 1 : 0, ...identity }
    const rendered = (over: Values) =>
      renderObjects(chart, { ...here, workers: [workerWith({ ...own, ...and, ...over })] })
    return {
      path,
      before: tryRender(() => rendered({})),
      after: rendered({ [path]: value }),
      holds,
    }
  })
}

/** Values that are refused beside an identity in software, and that one itself. */
const hardware = ['attestGpus', 'mountTsm', 'flags', 'runtimeClassName', 'softwareIdentitySecret']
const needGpu = [
  'gpus',
  'gpuResource',
  'attestGpus',
  'nodes',
  'acceptUnattestedNodes',
  'multiNodeScript',
]

function caseOf(chart: string, path: string, base: Values, { value, holds }: Effect): Case {
  const before = tryRender(() => renderObjects(chart, base))
  return { path, before, after: renderObjects(chart, withValue(base, path, value)), holds }
}

/** Without a value that is needed, the chart is refused. */
function tryRender(render: () => readonly Json[]): readonly Json[] {
  try {
    return render()
  } catch {
    return []
  }
}

async function prepare(cluster: Cluster): Promise<void> {
  for (const name of [namespace, dryNamespace]) await cluster.kubectl(['create', 'namespace', name])
  // What values ask of a node and of a cluster.
  await cluster.kubectl(['label', 'node', nodeName, 'a=b', 'gpu=h200', 'zone=a'])
  const capacity = ['nvidia.com~1gpu', 'amd.com~1gpu'].map((name) => ({
    op: 'add',
    path: `/status/capacity/${name}`,
    value: '8',
  }))
  await cluster.kubectl([
    ...['patch', 'node', nodeName, '--subresource=status', '--type=json'],
    ...['-p', JSON.stringify(capacity)],
  ])
  await cluster.apply(
    {
      ...{ apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', value: 1 },
      metadata: { name: 'high' },
    },
    {
      ...{ apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', handler: 'runc' },
      metadata: { name: 'kata-qemu-tdx' },
    },
  )
}

const atOnce = 6

async function tryCases(
  cluster: Cluster,
  cases: readonly Case[],
  secrets: Readonly<Record<string, string>>,
): Promise<string> {
  const known = new Set<string>()
  const result: Result = { ran: 0, kept: 0, waiting: [], failed: [] }
  for (let at = 0; at < cases.length; at += atOnce) {
    const some = cases.slice(at, at + atOnce)
    for (const one of some)
      await provide(cluster, changedPod(one)?.template.spec ?? {}, known, secrets)
    await Promise.all(
      some.map((one, index) =>
        tryCase(cluster, one, `v${at + index}`, result).catch((error) => {
          result.failed.push(`${one.path}: ${error instanceof Error ? error.message : error}`)
        }),
      ),
    )
    console.log(`  ${Math.min(at + atOnce, cases.length)} of ${cases.length} values`)
  }
  must(result.failed.length === 0, result.failed.join('; '))
  const waiting =
    result.waiting.length === 0 ? '' : `; not started here: ${result.waiting.join(', ')}`
  return `${cases.length} values: ${result.ran} in a running pod, ${result.kept} in other objects${waiting}`
}

type Result = { ran: number; kept: number; waiting: string[]; failed: string[] }

async function tryCase(cluster: Cluster, one: Case, name: string, result: Result): Promise<void> {
  const changed = changedPod(one)
  const kept = await keptObjects(cluster, one.after)
  if (changed === undefined) {
    must(one.holds(kept), 'the API server keeps objects without it')
    result.kept++
    return
  }
  await cluster.apply({
    ...{
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...changed.template.metadata, name, namespace },
    },
    spec: changed.template.spec,
  })
  try {
    const reason = reasonToWait(one.path)
    const pod = await untilRunning(cluster, name, reason !== undefined)
    const live = {
      metadata: pod.metadata,
      spec: {
        ...pod.spec,
        tolerations: pod.spec.tolerations?.filter(
          ({ key }: Json) => !/^node\.kubernetes/.test(key),
        ),
      },
    }
    must(
      one.holds(kept.map((object) => withPod(object, changed.name, live))),
      'the pod has no sign of it',
    )
    if (reason === undefined) {
      await mustRunAsTold(cluster, pod)
      result.ran++
    } else result.waiting.push(`${one.path} (${reason})`)
  } finally {
    await cluster.kubectl([
      '-n',
      namespace,
      'delete',
      'pod',
      name,
      '--grace-period=1',
      '--wait=false',
    ])
  }
}

/** The first pod template that the value makes or changes. */
function changedPod({ before, after }: Case): { name: string; template: Json } | undefined {
  for (const object of after) {
    if (object.kind !== 'Deployment') continue
    const old = before.find(
      ({ kind, metadata }) => kind === object.kind && metadata.name === object.metadata.name,
    )
    if (!Bun.deepEquals(old?.spec.template, object.spec.template))
      return { name: object.metadata.name, template: object.spec.template }
  }
  return undefined
}

const withPod = (object: Json, name: string, template: Json): Json =>
  object.kind === 'Deployment' && object.metadata.name === name
    ? { ...object, spec: { ...object.spec, template } }
    : object

/** As the API server would keep them; nothing starts. */
async function keptObjects(cluster: Cluster, objects: readonly Json[]): Promise<Json[]> {
  const items = objects.map((one) => ({
    ...one,
    metadata: { ...one.metadata, namespace: dryNamespace },
  }))
  const kept = await cluster.kubectl(
    ['-n', dryNamespace, 'create', '--dry-run=server', '-o', 'json', '-f', '-'],
    { input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) },
  )
  // One document after the other.
  return kept
    .split(/^(?=\{)/m)
    .filter((text) => text.trim() !== '')
    .map((text) => JSON.parse(text) as Json)
    .flatMap((one) => (one.kind === 'List' ? one.items : [one]))
    .map((one) => withoutDefault(one, objects))
}

/** A number of replicas that the chart leaves to an autoscaler is 1 on the server. */
function withoutDefault(kept: Json, objects: readonly Json[]): Json {
  if (kept.kind !== 'Deployment') return kept
  const { kind, metadata } = kept
  const own = objects.find((one) => one.kind === kind && one.metadata.name === metadata.name)
  if (own?.spec.replicas !== undefined) return kept
  const { replicas: _, ...spec } = kept.spec
  return { ...kept, spec }
}

/** What the pod refers to: secrets and maps with every file that any value names, claims, its account. */
async function provide(
  cluster: Cluster,
  spec: Json,
  known: Set<string>,
  secrets: Readonly<Record<string, string>>,
): Promise<void> {
  const wanted: object[] = []
  const want = (kind: string, name: string | undefined, object: (name: string) => object[]) => {
    if (name === undefined || known.has(`${kind}/${name}`)) return
    known.add(`${kind}/${name}`)
    wanted.push(...object(name))
  }
  const named = (kind: string, name: string, more: object) => [
    { apiVersion: 'v1', kind, metadata: { name, namespace }, ...more },
  ]
  for (const { secret, configMap, persistentVolumeClaim } of spec.volumes ?? []) {
    want('Secret', secret?.secretName, (name) => named('Secret', name, { stringData: secrets }))
    want('ConfigMap', configMap?.name, (name) => named('ConfigMap', name, { data: secrets }))
    want('PersistentVolumeClaim', persistentVolumeClaim?.claimName, (name) => [
      localVolume(`values-${name}`, '/var/lib', namespace, name),
      ...named('PersistentVolumeClaim', name, {
        spec: {
          accessModes: ['ReadWriteMany'],
          resources: { requests: { storage: '1Gi' } },
          storageClassName: '',
        },
      }),
    ])
  }
  want('ServiceAccount', spec.serviceAccountName, (name) => named('ServiceAccount', name, {}))
  if (wanted.length > 0) await cluster.apply(...wanted)
}

/** Files of the page's own installation, under every name that the values give them. */
function readSecrets(folder: string): Record<string, string> {
  const file = (name: string) => readFileSync(join(folder, name), 'utf8')
  const manifest = file('manifest.json')
  const token = (letter: string) => letter.repeat(64)
  must(readdirSync(folder).includes('identity.json'), 'the page was not followed')
  return {
    'tls.crt': file('gateway.crt'),
    'tls.key': file('gateway.key'),
    'ca.crt': file('ca.crt'),
    'corp.pem': file('ca.crt'),
    apiKey: JSON.parse(file('key.json')).secret,
    'identity.json': file('identity.json'),
    'manifest.json': manifest,
    'm.json': manifest,
    'deployment.json': manifest,
    'x.json': manifest,
    'portal.json': '{}',
    logKey: file('log.key'),
    witnessKey: file('log.key'),
    ...{ adminToken: token('a'), registerToken: token('b'), metricsToken: token('c') },
    ...{ clientSecret: token('d'), promptCacheSalt: token('e'), hostedSaltSecret: token('f') },
    databaseUrl:
      'postgres://privatemode:PASSWORD@postgres.database.svc.cluster.local:5432/privatemode',
  }
}

async function untilRunning(cluster: Cluster, name: string, mayWait: boolean): Promise<Json> {
  let pod: Json
  const read = async () => {
    pod = JSON.parse(await cluster.kubectl(['-n', namespace, 'get', 'pod', name, '-o', 'json']))
    return pod
  }
  await read()
  if (mayWait) return pod
  await cluster
    .until(name, async () => (await read()).status.phase === 'Running', 120_000)
    .catch(async () => {
      const states = (pod.status.containerStatuses ?? []).concat(
        pod.status.initContainerStatuses ?? [],
      )
      const logs = await cluster.tryKubectl(['-n', namespace, 'logs', name, '--all-containers'])
      throw new Error(
        `does not run: ${pod.status.phase} ${JSON.stringify(states.map(({ state }: Json) => state))} ${logs.out.slice(-300)}`,
      )
    })
  return pod
}

/** The program on the node has exactly the arguments and variables of the pod, and none has ended. */
async function mustRunAsTold(cluster: Cluster, pod: Json): Promise<void> {
  const told = pod.spec.containers[0]
  const restarts = (pod.status.containerStatuses ?? []).map((one: Json) => one.restartCount)
  must(
    restarts.every((count: number) => count === 0),
    'it was started again',
  )
  const find = () =>
    processesOf(pod.metadata.uid).find(
      ({ args, env }) =>
        (told.args ?? []).every((arg: string) => args.includes(expand(arg, pod))) &&
        (told.env ?? []).every(
          ({ name, value }: Json) => value === undefined || env.includes(`${name}=${value}`),
        ),
    )?.pid
  let pid: string | undefined
  const isSeen = async () => {
    pid = find()
    return pid !== undefined
  }
  const { name } = pod.metadata
  const logs = async () => (await cluster.tryKubectl(['-n', namespace, 'logs', name])).out
  // A pod runs a moment before its program does.
  await cluster
    .until('a process with the arguments of the pod', isSeen, 30_000)
    .catch(async ({ message }: Error) => {
      throw new Error(`${message}: ${(await logs()).slice(-300)}`)
    })
  // And a program that refuses its settings runs for a moment.
  await Bun.sleep(refusingMs)
  must(find() === pid, `it ended: ${(await logs()).slice(-300)}`)
}

/** Longer than a program takes to read its settings. */
const refusingMs = 3_000

/** As a kubelet does. */
const expand = (arg: string, pod: Json) => arg.replaceAll('$(POD_IP)', pod.status.podIP)

/** The node is this machine: its processes are in /proc. */
function processesOf(uid: string): { pid: string; args: string[]; env: string[] }[] {
  const parts = (pid: string, name: string) =>
    readFileSync(`/proc/${pid}/${name}`, 'utf8').split('\0').filter(Boolean)
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        if (!readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(uid)) return []
        return [{ pid, args: parts(pid, 'cmdline'), env: parts(pid, 'environ') }]
      } catch {
        return []
      }
    })
}
