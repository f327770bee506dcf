/** The part of `test:cluster` that runs inside the namespaces: starts the cluster, then tries one row after the other. */
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Parts } from '../confined/parts.ts'
import { furnish, nodeName } from '../confined/prepare-namespaces.ts'
import type { TestImage } from '../confined/program-image.ts'
import { formatRows, Rows } from '../confined/rows.ts'
import { kubeconfigOf, startApiServer } from './api-server.ts'
import { Cluster } from './cluster.ts'
import type { Programs } from './go-programs.ts'
import { groups, neededGroups } from './groups.ts'
import { startContainerd, startNode, startPolicies } from './node.ts'
import { defineKinds, tryObjects } from './objects.ts'
import { Page } from './page.ts'
import { installPostgres, localVolume } from './postgres-in-cluster.ts'
import { mountModels, type RealVllm } from './real-vllm.ts'
import { pushImage, startRegistry } from './registry.ts'

export type Settings = {
  readonly work: string
  readonly programs: Programs
  /** None: only the API server is started. */
  readonly images: readonly TestImage[] | undefined
  /** Files that define the kinds of other projects. */
  readonly definitions: readonly string[]
  /** None: a stand-in answers. */
  readonly vllm: RealVllm | undefined
  readonly requests: number
  readonly rollouts: number
  readonly only: readonly string[]
  readonly results: string
  readonly keep: boolean
}

const settings = JSON.parse(process.env.PRIVATEMODE_CLUSTER ?? '') as Settings
const { work, programs, images } = settings
const namespace = 'privatemode'
const isWanted = (group: string) => settings.only.length === 0 || settings.only.includes(group)

furnish(work)
const parts = new Parts(work)
const cluster = new Cluster(parts, join(work, 'bin/helm'), namespace)
const rows = new Rows(() => cluster.describe())
try {
  console.log('starting the API server')
  await startApiServer(parts, programs)
  await rows.try('KEDA, LeaderWorkerSet and the Prometheus operator define their kinds', () =>
    defineKinds(cluster, settings.definitions),
  )
  if (isWanted('objects')) await tryObjects(cluster, rows)
  if (images !== undefined) {
    console.log('starting containerd and a registry')
    await startContainerd(parts)
    await startRegistry(parts, programs.registry)
    for (const image of images) pushImage(parts, image)
    console.log('starting a node')
    startNode(parts, programs)
    await prepare()
    await runGroups()
  }
} catch (error) {
  await rows.try('the cluster starts', () => Promise.reject(error))
  for (const part of parts.started) console.log(`--- ${part}\n${parts.logOf(part).slice(-1500)}`)
}
writeFileSync(settings.results, JSON.stringify(rows.all))
console.log(`\n${formatRows(rows.all)}`)
if (settings.keep) {
  console.log('the cluster runs until Ctrl-C; a shell in it, as seen from outside:')
  console.log(`  nsenter --target PID --all env KUBECONFIG=${kubeconfigOf(parts, 'admin')} bash`)
  await new Promise(() => {})
}
process.exit(rows.all.length > 0 && rows.all.every(({ result }) => result === 'yes') ? 0 : 1)

async function prepare(): Promise<void> {
  const wait = ['wait', '--for=condition=Ready', `node/${nodeName}`, '--timeout=5s']
  await cluster.until('the node', async () => (await cluster.tryKubectl(wait)).code === 0, 300_000)
  startPolicies(parts, programs)
  await installPostgres(cluster, parts.folder('database'))
  for (const name of ['manifest-log', 'models']) {
    const folder = parts.folder(`volumes/${name}`)
    // A kubelet gives a local volume to a pod's group only where that pod is the first one to mount it, and writes.
    chownSync(folder, 65532, 65532)
    if (name === 'models' && settings.vllm !== undefined) mountModels(parts, settings.vllm, folder)
    await cluster.apply(localVolume(name, folder, namespace))
  }
}

async function runGroups(): Promise<void> {
  const page = new Page(join(work, 'checkout'), join(work, 'bin'))
  const { requests, rollouts } = settings
  const amounts = { requests, rollouts, isPart: settings.only.length > 0 }
  const scene = { cluster, rows, page, ...amounts, vllmVersion: settings.vllm?.version }
  for (const [name, run] of Object.entries(groups)) {
    // One real vLLM is enough for this machine.
    if (name === 'grow' && settings.vllm !== undefined) continue
    if (neededGroups.includes(name) || isWanted(name)) await run(scene)
  }
}
