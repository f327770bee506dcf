/** Kubernetes, its name server, an engine of network policies and a registry as programs, built from Go's module proxy into the user's cache: pinned, and built once. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toolCache } from '../../scripts/deploy/go-tools.ts'

export const goVersions = {
  kubernetes: '1.35.4',
  coredns: '1.13.1',
  router: '2.1.0',
  registry: '3.0.0',
} as const

const kubernetesPrograms = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
] as const

export type Programs = Readonly<
  Record<
    (typeof kubernetesPrograms)[number] | 'coredns' | 'kube-router' | 'registry' | 'pause',
    string
  >
>

const cache = () => join(toolCache(), '..', 'cluster')

/** The wanted programs; those that are missing are built, which takes minutes the first time and can be cut and taken up again. */
export async function obtainPrograms(
  tell: (line: string) => void,
  isWanted: (name: string) => boolean,
): Promise<Programs> {
  const found = new Map<string, string>()
  const folder = join(cache(), `kubernetes-v${goVersions.kubernetes}`)
  for (const name of kubernetesPrograms) found.set(name, join(folder, name))
  found.set('coredns', join(cache(), `coredns-v${goVersions.coredns}`))
  found.set('kube-router', join(cache(), `kube-router-v${goVersions.router}`))
  found.set('registry', join(cache(), `registry-v${goVersions.registry}`))
  found.set('pause', join(cache(), 'pause-v1'))
  const missing = (name: string) => isWanted(name) && !existsSync(found.get(name) ?? '')
  if (kubernetesPrograms.some(missing)) {
    const source = await kubernetesSource(tell)
    for (const name of kubernetesPrograms.filter(missing))
      await build(source, `./cmd/${name}`, found.get(name) ?? '', tell)
    rmSync(source, { recursive: true, force: true })
  }
  if (missing('coredns')) {
    const source = writeProgram('coredns', coreDnsModule, coreDnsMain)
    await build(source, '.', found.get('coredns') ?? '', tell)
    rmSync(source, { recursive: true, force: true })
  }
  if (missing('kube-router')) {
    const source = writeProgram('kube-router', routerModule, undefined, routerSums)
    await build(source, `${router}/cmd/kube-router`, found.get('kube-router') ?? '', tell)
    rmSync(source, { recursive: true, force: true })
  }
  if (missing('registry')) {
    const source = writeProgram('registry', registryModule)
    await build(source, `${registry}/cmd/registry`, found.get('registry') ?? '', tell)
    rmSync(source, { recursive: true, force: true })
  }
  if (missing('pause')) {
    const source = writeProgram('pause', 'module pause\n\ngo 1.22\n', pauseMain)
    await build(source, '.', found.get('pause') ?? '', tell)
    rmSync(source, { recursive: true, force: true })
  }
  return Object.fromEntries(found) as Programs
}

/** The module as published, but with its parts from the module proxy instead of folders that it does not contain. */
async function kubernetesSource(tell: (line: string) => void): Promise<string> {
  const version = goVersions.kubernetes
  tell(`fetching k8s.io/kubernetes v${version}`)
  const answer = await go(
    ['mod', 'download', '-json', `k8s.io/kubernetes@v${version}`],
    cacheMade(),
  )
  const { Dir } = JSON.parse(answer) as { Dir: string }
  const source = join(cache(), `kubernetes-v${version}.source`)
  rmSync(source, { recursive: true, force: true })
  await run(['cp', '-r', Dir, source], cache())
  await run(['chmod', '-R', 'u+w', source], cache())
  for (const file of ['go.work', 'go.work.sum']) rmSync(join(source, file), { force: true })
  const path = join(source, 'go.mod')
  const text = readFileSync(path, 'utf8')
  const parts = text.replace(
    /=> \.\/staging\/src\/(k8s\.io\/[a-z-]+)/g,
    `=> $1 v0.${version.slice(2)}`,
  )
  writeFileSync(path, parts)
  return source
}

async function build(
  source: string,
  what: string,
  to: string,
  tell: (line: string) => void,
): Promise<void> {
  const started = performance.now()
  const [major, minor] = goVersions.kubernetes.split('.')
  const at = 'k8s.io/component-base/version.'
  const flags = [
    '-s -w',
    `-X ${at}gitVersion=v${goVersions.kubernetes} -X ${at}gitMajor=${major} -X ${at}gitMinor=${minor}`,
    `-X ${at}gitTreeState=clean`,
  ].join(' ')
  mkdirSync(join(to, '..'), { recursive: true })
  tell(`building ${what} (the first time takes minutes)`)
  // Names of packages as they are compiled are the only progress that Go tells.
  let packages = 0
  const timer = setInterval(() => tell(`building ${what}: ${packages} packages so far`), 30_000)
  try {
    await go(['build', '-v', '-trimpath', '-ldflags', flags, '-o', `${to}.new`, what], source, {
      env: { GOFLAGS: '-mod=mod' },
      onLine: () => packages++,
    })
  } finally {
    clearInterval(timer)
  }
  renameSync(`${to}.new`, to)
  tell(`built ${what} in ${Math.round((performance.now() - started) / 1000)} s`)
}

function writeProgram(name: string, module: string, main?: string, sums?: string): string {
  const source = join(cache(), `${name}.source`)
  mkdirSync(source, { recursive: true })
  writeFileSync(join(source, 'go.mod'), module)
  if (main !== undefined) writeFileSync(join(source, 'main.go'), main)
  if (sums !== undefined) writeFileSync(join(source, 'go.sum'), sums)
  return source
}

const parts = ['api', 'apimachinery', 'client-go']
const coreDnsModule = `module dns

go 1.25.0

require github.com/coredns/coredns v${goVersions.coredns}
${parts.map((part) => `require k8s.io/${part} v0.${goVersions.kubernetes.slice(2)}`).join('\n')}
`

const coreDnsMain = `package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func init() { dnsserver.Directives = []string{"errors", "kubernetes"} }

func main() { coremain.Run() }
`

const router = 'github.com/cloudnativelabs/kube-router/v2'
const routerModule = `module policies

go 1.25.0

require ${router} v${goVersions.router}
`
/** Not every mirror of the checksum database knows this module: what was downloaded first is pinned here. */
const routerSums = `${router} v${goVersions.router} h1:xWsptKtmZ44L+NjwFKoFAFlVdxCz8fka9A/eYJe95Ok=
${router} v${goVersions.router}/go.mod h1:JU/k2Qqcph0myF1cRDLidz1SZdoSrPczuYcGxYRSP0A=
`

const registry = 'github.com/distribution/distribution/v3'
const registryModule = `module registry

go 1.25.0

require ${registry} v${goVersions.registry}
`

/** Holds a pod's namespaces open until it is told to go. */
const pauseMain = `package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGINT, syscall.SIGTERM)
	<-told
}
`

function cacheMade(): string {
  mkdirSync(cache(), { recursive: true })
  return cache()
}

type GoOptions = {
  readonly env?: Readonly<Record<string, string>>
  readonly onLine?: () => void
}

const go = (args: readonly string[], cwd: string, options: GoOptions = {}) =>
  run(['go', ...args], cwd, options)

async function run(
  command: readonly string[],
  cwd: string,
  { env = {}, onLine = () => {} }: GoOptions = {},
): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd,
    env: {
      ...process.env,
      GOFLAGS: '',
      CGO_ENABLED: '0',
      GOTOOLCHAIN: 'local',
      GONOSUMDB: router,
      ...env,
    },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let last = ''
  const reading = (async () => {
    const decoder = new TextDecoder()
    for await (const chunk of child.stderr) {
      const text = decoder.decode(chunk, { stream: true })
      for (const _ of text.matchAll(/\n/g)) onLine()
      last = (last + text).slice(-2000)
    }
  })()
  const [output, code] = await Promise.all([new Response(child.stdout).text(), child.exited])
  await reading
  if (code !== 0) throw new Error(`${command.slice(0, 2).join(' ')} failed: ${last}`)
  return output
}
