/** An older build of this project: sources from the history of the checkout, packages from their lock file. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { toolCache } from '../../scripts/deploy/go-tools.ts'
import { type Lock, lockedFolder, repository, run } from '../../scripts/deploy/locked-package.ts'

export type OlderTree =
  | {
      readonly kind: 'found'
      readonly commit: string
      readonly folder: string
      /** The runtime that its lock file pins. */
      readonly bun: string
    }
  | { readonly kind: 'missing'; readonly reason: string }

/** From the user's cache, or added to it; without history or packages, the reason. */
export function obtainOlderTree(): OlderTree {
  const commit = findOlderCommit()
  if (commit === undefined) return { kind: 'missing', reason: 'the checkout has no history' }
  const folder = join(toolCache(), `older-${commit.slice(0, 12)}`)
  try {
    if (!existsSync(folder)) makeTree(commit, folder)
    const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as Lock
    return { kind: 'found', commit, folder, bun: join(lockedFolder(bunPackage, lock), 'bin/bun') }
  } catch (error) {
    console.warn(`no older build of ${commit}: ${error}`)
    return { kind: 'missing', reason: 'its packages could not be installed' }
  }
}

const bunPackage = `@oven/bun-${process.platform}-${process.arch === 'arm64' ? 'aarch64' : 'x64'}`

/** The last release before this commit. Before the first there was none: then where upgrades were first tested. */
function findOlderCommit(): string | undefined {
  // In a shallow clone the one commit that is there seems to have added every file.
  if (git('rev-parse', '--is-shallow-repository') !== 'false') return undefined
  const tag = git('describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^')
  if (tag !== undefined) return git('rev-parse', `${tag}^{commit}`)
  const added = git('log', '--diff-filter=A', '--format=%H', '--', 'test/deploy/upgrade.slow.ts')
  const first = added?.split('\n').at(-1)
  return first === '' || first === git('rev-parse', 'HEAD') ? undefined : first
}

function git(...args: string[]): string | undefined {
  const { exitCode, stdout } = Bun.spawnSync(['git', ...args], { cwd: repository })
  return exitCode === 0 ? stdout.toString().trim() : undefined
}

function makeTree(commit: string, folder: string): void {
  mkdirSync(toolCache(), { recursive: true })
  const work = mkdtempSync(`${folder}.`)
  try {
    const tree = join(work, 'tree')
    const archive = join(work, 'tree.tar')
    mkdirSync(tree)
    run(['git', 'archive', '--output', archive, commit], { cwd: repository })
    run(['tar', '-xf', archive, '-C', tree])
    // Optional are the runtime, which is fetched by itself, and the embedded engine.
    const quick = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
    run(['npm', 'ci', '--omit=dev', '--omit=optional', ...quick], { cwd: tree })
    renameSync(tree, folder)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
