/**
 * Claims a home directory for one stack, so that a second start cannot overwrite what the first one
 * uses.
 */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { Home } from './home.ts'
import { StackError } from './stack-error.ts'

type Claim = {
  readonly pid: number
  /** Distinguishes the process from a later one with the same id. */
  readonly started: string
  readonly url: string
}

/** Returns a function that releases the home; throws if a running stack uses it. */
export function claimHome(home: Home, url: string): () => void {
  const path = home.at('running.json')
  const own = `${path}.new-${process.pid}`
  const claim: Claim = { pid: process.pid, started: startOf(process.pid) ?? '', url }
  for (;;) {
    try {
      // Exclusive, and never seen half written: of two simultaneous starts, one fails here.
      writeFileSync(own, JSON.stringify(claim), { mode: 0o600 })
      linkSync(own, path)
      return () => rmSync(path, { force: true })
    } catch (cause) {
      if ((cause as { code?: unknown }).code !== 'EEXIST') {
        const message = `${path} cannot be written; check its permissions, or choose another directory with --home`
        throw new StackError('home_unusable', message, { cause })
      }
    } finally {
      rmSync(own, { force: true })
    }
    const other = readClaim(path)
    if (isRunning(other)) {
      throw new StackError(
        'already_running',
        `already running at ${other.url} (process ${other.pid}) with ${home.path}; stop it there with Ctrl-C, or choose another directory with --home`,
      )
    }
    discard(path) // left behind by a stack that was killed
  }
}

/** Of two starts that discard the same claim, the second must not take the first one's new claim. */
function discard(path: string): void {
  const aside = `${path}.${process.pid}`
  try {
    renameSync(path, aside)
    if (isRunning(readClaim(aside))) linkSync(aside, path)
  } catch {
    // It is gone, or there is a new one: the next attempt finds out.
  }
  rmSync(aside, { force: true })
}

function isRunning(claim: Claim | undefined): claim is Claim {
  return claim !== undefined && startOf(claim.pid) === claim.started
}

function readClaim(path: string): Claim | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/** When a running process was started, in the system's own units; undefined if it is not running. */
function startOf(pid: number): string | undefined {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EPERM') return undefined
  }
  try {
    // Field 22 of proc(5), counted after the name, which may contain spaces.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19]
  } catch {
    return '' // only available on Linux
  }
}
