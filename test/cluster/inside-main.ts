/** The part of `test:cluster` that runs inside the namespaces: starts the cluster, then tries one row after the other. */
import { chownSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { repository } from '../../scripts/deploy/locked-package.ts'
import { Parts } from '../confined/parts.ts'
import { furnish, nodeName } from '../confined/prepare-namespaces.ts'
import type { TestImage } from '../confined/program-image.ts'
import { formatRows, Rows } from '../confined/rows.ts'
import { kubeconfigOf, startApiServer } from './api-server.ts'
import { Cluster, loadImage } from './cluster.ts'
import type { Programs } from './go-programs.ts'
import { groups, neededGroups } from './groups.ts'
import { startContainerd, startNode } from './node.ts'
import { tryObjects } from './objects.ts'
import { Page } from './page.ts'
import { installPostgres, localVolume } from './postgres-in-cluster.ts'

export type Settings = {
  readonly work: string
  readonly programs: Programs
  /** None: only the API server is started. */
  readonly images: readonly TestImage[] | undefined
  /** Files that define the kinds of other projects. */
  readonly definitions: readonly string[]
  readonly requests: number
  readonly rollouts: number
  readonly only: readonly string[]
  readonly results: string
  readonly keep: boolean
}

const settings = JSON.parse(process.env.PRIVATEMODE_CLUSTER ?? '') as Settings
const { work, programs, images } = settings
const namespace = 'privatemode'
const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
const isWanted = (group: string) => settings.only.length === 0 || settings.only.includes(group)

furnish(work)
const parts = new Parts(work)
const cluster = new Cluster(parts, join(work, 'bin/helm'), namespace)
const rows = new Rows(() => cluster.describe())
try {
  console.log('starting the API server')
  await startApiServer(parts, programs)
  if (isWanted('objects')) await tryObjects(cluster, rows, settings.definitions)
  if (images !== undefined) {
    console.log('starting containerd and loading images')
    await startContainerd(parts)
    loadImages(images)
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

function loadImages(testImages: readonly TestImage[]): void {
  for (const { path, name, tag } of testImages) loadImage(path, name, tag)
  for (const part of ['proxy', 'gateway', 'worker', 'verify']) {
    const name = `privatemode-${part}`
    loadImage(join(repository, `dist/images/${name}-${version}.oci.tar`), name, version)
  }
}

async function prepare(): Promise<void> {
  const wait = ['wait', '--for=condition=Ready', `node/${nodeName}`, '--timeout=5s']
  await cluster.until('the node', async () => (await cluster.tryKubectl(wait)).code === 0, 300_000)
  await installPostgres(cluster, parts.folder('database'))
  for (const name of ['manifest-log', 'models']) {
    const folder = parts.folder(`volumes/${name}`)
    // A kubelet gives a local volume to a pod's group only where that pod is the first one to mount it, and writes.
    chownSync(folder, 65532, 65532)
    await cluster.apply(localVolume(name, folder, namespace))
  }
}

async function runGroups(): Promise<void> {
  const page = new Page(join(work, 'checkout'), join(work, 'bin'))
  const { requests, rollouts } = settings
  const scene = { cluster, rows, page, requests, rollouts, isPart: settings.only.length > 0 }
  for (const [name, run] of Object.entries(groups)) {
    if (neededGroups.includes(name) || isWanted(name)) await run(scene)
  }
}
