/** Obtains pinned programs and schemas through Go's module system, whose checksum database vouches for them. */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'

export const goTools = {
  helm: { module: 'helm.sh/helm/v3/cmd/helm', version: 'v3.22.0' },
  /** The loader that docker compose and others share, as a program. */
  'compose-go': { module: 'github.com/compose-spec/compose-go/v2/cmd', version: 'v2.16.2' },
} as const

export type GoTool = keyof typeof goTools

/** Modules of which only data files are read: API descriptions of the oldest, a middle and a new Kubernetes, and of resources that operators add. */
export const goModules = {
  'kubernetes-1.16': { module: 'k8s.io/kubernetes', version: 'v1.16.15' },
  'kubernetes-1.30': { module: 'k8s.io/kubernetes', version: 'v1.30.14' },
  'kubernetes-1.36': { module: 'k8s.io/kubernetes', version: 'v1.36.3' },
  prometheus: { module: 'github.com/prometheus-operator/prometheus-operator', version: 'v0.85.0' },
  leaderworkerset: { module: 'sigs.k8s.io/lws', version: 'v0.8.0' },
  keda: { module: 'github.com/kedacore/keda/v2', version: 'v2.17.2' },
} as const

export type GoModule = keyof typeof goModules

export const moduleVersion = (name: GoModule): string => goModules[name].version

export type Obtained =
  | { readonly kind: 'found'; readonly path: string }
  | { readonly kind: 'missing'; readonly reason: string }

export function toolCache(env: Record<string, string | undefined> = process.env): string {
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'privatemode', 'tools')
}

/** A program that already exists: built by `obtainTool`, or on the path. Nothing is fetched or built. */
export function findTool(name: GoTool): Obtained {
  const path = cachedPath(name)
  const found = existsSync(path) ? path : Bun.which(name)
  if (found !== null) return { kind: 'found', path: found }
  return missing(
    `there is no ${name}; \`npm run task -- setup:deploy\` builds it where Go is installed`,
  )
}

/** A program from the cache, or built into it; if Go or the network is missing, the reason. */
export function obtainTool(name: GoTool): Obtained {
  const { module, version } = goTools[name]
  const path = cachedPath(name)
  if (existsSync(path)) return { kind: 'found', path }
  const folder = `${path}.${process.pid}.new`
  mkdirSync(folder, { recursive: true })
  try {
    const built = runGo(['install', `${module}@${version}`], { GOBIN: folder })
    if (built.kind === 'missing') return built
    renameSync(join(folder, basename(module)), path)
    return { kind: 'found', path }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The folder of a module's files in Go's own cache. */
export function obtainModule(name: GoModule): Obtained {
  const { module, version } = goModules[name]
  const answer = runGo(['mod', 'download', '-json', `${module}@${version}`])
  if (answer.kind === 'missing') return answer
  const { Dir } = JSON.parse(answer.output) as { Dir: string }
  return { kind: 'found', path: Dir }
}

function cachedPath(name: GoTool): string {
  return join(toolCache(), `${name}-${goTools[name].version}`)
}

function runGo(args: string[], env: Record<string, string> = {}) {
  if (Bun.which('go') === null) return missing('Go is not installed')
  const { exitCode, stdout, stderr } = Bun.spawnSync(['go', ...args], {
    env: { ...process.env, GOFLAGS: '', CGO_ENABLED: '0', GOTOOLCHAIN: 'local', ...env },
    cwd: toolCacheMade(),
  })
  if (exitCode === 0) return { kind: 'done' as const, output: stdout.toString() }
  const lines = stderr.toString().trim().split('\n')
  return missing(`go ${args[0]} failed: ${lines.at(-1) ?? ''}`)
}

function toolCacheMade(): string {
  mkdirSync(toolCache(), { recursive: true })
  return toolCache()
}

const missing = (reason: string) => ({ kind: 'missing' as const, reason })
