/**
 * `npm run task -- test:cluster [options]`: a real Kubernetes of its own, in which both charts are installed, used and disrupted.
 *
 *   --only LIST   groups of rows: objects,dialects,…; all unless given. `objects` alone needs the API server only, else
 *                 the page is followed from its start to its end
 *   --requests N  requests under which each part is rolled out; 1000 unless given
 *   --rollouts N  how often at least; once unless given
 *   --vllm FILE   a vllm program of an environment as test:servers installs it (.servers/vllm-VERSION/bin/vllm), to answer
 *                 instead of the stand-in. It cannot be told what to answer, so only the page is followed, to an answer
 *                 in every dialect
 *   --fast        takes the images in dist/images as they are
 *   --write       writes the table into docs/operations.md
 *   --keep        waits for Ctrl-C at the end, with the cluster running
 *
 * Control plane, node and pods run in namespaces and control groups of their own, in one folder, and end with this
 * command. Kubernetes and its name server are built from Go's module proxy the first time (minutes) and kept in the
 * user's cache. Needs Linux on x86-64, root, Go, and what Debian calls etcd-server, containerd, runc,
 * containernetworking-plugins, kubernetes-client, skopeo, nftables,
 * iptables, ipset and conntrack; where something is missing it says what.
 */
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { obtainTool } from '../../scripts/deploy/go-tools.ts'
import { repository } from '../../scripts/deploy/locked-package.ts'
import { parseTaskArguments } from '../../scripts/task-arguments.ts'
import type { TestImage } from '../confined/program-image.ts'
import type { Row } from '../confined/rows.ts'
import { runInWorkFolder, type Work } from '../confined/work-folder.ts'
import { goVersions, obtainPrograms } from './go-programs.ts'
import { groups } from './groups.ts'
import { obtainDefinitions } from './kind-definitions.ts'
import { findVllm, type RealVllm } from './real-vllm.ts'
import { writeIntoOperations } from './report.ts'
import { missingForCluster } from './requirements.ts'
import { makeTestImages } from './test-images.ts'

const { values } = parseTaskArguments({
  options: {
    only: { type: 'string', default: '' },
    requests: { type: 'string', default: '1000' },
    rollouts: { type: 'string', default: '1' },
    vllm: { type: 'string' },
    fast: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
})

const given = values.only === '' ? [] : values.only.split(',')
const only = values.vllm === undefined ? given : ['dialects']
const known = ['objects', ...Object.keys(groups)]
const unknown = only.filter((name) => !known.includes(name))
if (values.vllm !== undefined && (given.length > 0 || !existsSync(values.vllm))) {
  console.error('--vllm takes the path of a vllm program, and no --only')
  process.exit(2)
}
if (
  unknown.length > 0 ||
  ![values.requests, values.rollouts].every((one) => /^[1-9]\d*$/.test(one))
) {
  if (unknown.length > 0)
    console.error(`--only knows no ${unknown.join(', ')}; it takes ${known.join(', ')}`)
  else console.error('--requests and --rollouts take whole numbers above 0')
  process.exit(2)
}

const missing = missingForCluster()
if (missing.length > 0) {
  console.error('test:cluster cannot run here:')
  for (const reason of missing) console.error(`  ${reason}`)
  process.exit(1)
}

const started = performance.now()
const tell = (line: string) => {
  const seconds = Math.round((performance.now() - started) / 1000)
  console.log(`[${String(seconds).padStart(4)} s] ${line}`)
}
await runInWorkFolder('cluster', main)

async function main({ folder: work, confine }: Work): Promise<number> {
  const isServerOnly = only.length === 1 && only[0] === 'objects'
  const programs = await obtainPrograms(tell, (name) => !isServerOnly || name === 'kube-apiserver')
  const helm = obtainTool('helm')
  if (helm.kind === 'missing') throw new Error(helm.reason)
  const definitions = obtainDefinitions()
  mkdirSync(join(work, 'bin'))
  symlinkSync(helm.path, join(work, 'bin/helm'))
  const vllm = values.vllm === undefined ? undefined : findVllm(values.vllm)
  const images = isServerOnly
    ? undefined
    : await makeImages(join(work, 'images'), programs.pause, vllm)
  const amounts = { requests: Number(values.requests), rollouts: Number(values.rollouts) }
  const settings = {
    work,
    programs,
    images,
    definitions,
    vllm,
    ...amounts,
    only,
  }
  const results = join(work, 'rows.json')
  const home = join(work, 'home')
  mkdirSync(home)
  const ended = await confine([process.execPath, join(import.meta.dir, 'inside-main.ts')], {
    PRIVATEMODE_CLUSTER: JSON.stringify({ ...settings, results, keep: values.keep }),
    HOME: home,
    PATH: `${join(work, 'bin')}:${process.env.PATH}`,
  })
  const rows = existsSync(results) ? (JSON.parse(readFileSync(results, 'utf8')) as Row[]) : []
  if (values.write && rows.length > 0)
    writeIntoOperations(rows, goVersions.kubernetes, vllm?.version)
  if (!isServerOnly) console.log(whoAnswered(vllm))
  return ended
}

function whoAnswered(vllm: RealVllm | undefined): string {
  return vllm === undefined
    ? 'A stand-in for vLLM answered; --vllm runs a real one.'
    : `vLLM ${vllm.version} answered, with a tiny model on the processor.`
}

/** Ours as documented, by a command of its own, and what a cluster needs beside them. */
async function makeImages(
  folder: string,
  pause: string,
  vllm: RealVllm | undefined,
): Promise<TestImage[]> {
  if (!values.fast || !existsSync(join(repository, 'dist/images'))) await buildImages()
  const server = vllm === undefined ? 'a stand-in for vLLM' : `vLLM ${vllm.version}`
  tell(`making images of PostgreSQL, of ${server} and of the pause program`)
  return makeTestImages(folder, pause, vllm)
}

async function buildImages(): Promise<void> {
  tell('building the images')
  const child = Bun.spawn([process.execPath, 'scripts/build-images.ts'], {
    cwd: repository,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if ((await child.exited) !== 0) throw new Error('the images were not built')
}
