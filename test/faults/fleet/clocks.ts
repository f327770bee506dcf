/** A wall clock for each part that can be set while it runs, using libfaketime if installed. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type Clocks = {
  envOf(name: string): Record<string, string>
  /** Seconds by which the part's clock is ahead; it takes up to a second. */
  set(name: string, aheadSeconds: number): void
}

const places = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map(
  (machine) => `/usr/lib/${machine}/faketime/libfaketime.so.1`,
)

export function findClocks(folder: string): Clocks | undefined {
  const library = places.find((path) => existsSync(path))
  if (library === undefined) return undefined
  mkdirSync(folder, { recursive: true })
  const path = (name: string) => join(folder, name)
  const set = (name: string, aheadSeconds: number) =>
    writeFileSync(path(name), `${aheadSeconds < 0 ? '-' : '+'}${Math.abs(aheadSeconds)}\n`)
  return {
    set,
    envOf(name) {
      set(name, 0)
      return {
        LD_PRELOAD: library,
        FAKETIME_TIMESTAMP_FILE: path(name),
        FAKETIME_CACHE_DURATION: '1',
        // A clock that is set does not change how time passes.
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      }
    },
  }
}
