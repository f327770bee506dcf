/** Which parts of a program run, by V8's precise block coverage: for Node, which has it. */
import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import type { Coverage } from './fuzzer.ts'

type Range = { readonly startOffset: number; readonly endOffset: number; readonly count: number }
type Script = {
  readonly url: string
  readonly functions: readonly { readonly ranges: readonly Range[] }[]
}

/** Watches the one script of this address. */
export function watchCoverage(url: string, path: string): Coverage & { share(): number } {
  const length = readFileSync(path, 'utf8').length
  const everReached = new Uint8Array(length)
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })

  /** What ran since the last call: inner ranges come after the outer ones they correct. */
  const take = (): Uint8Array => {
    const mask = new Uint8Array(length)
    session.post('Profiler.takePreciseCoverage', (error, taken) => {
      if (error !== null) throw error
      for (const script of taken.result as Script[]) {
        if (script.url !== url) continue
        for (const { ranges } of script.functions) {
          for (const { startOffset, endOffset, count } of ranges) {
            mask.fill(count > 0 ? 1 : 0, startOffset, endOffset)
          }
        }
      }
    })
    return mask
  }

  return {
    newlyReached() {
      const mask = take()
      const places: number[] = []
      for (let at = 0; at < length; at++) {
        if (mask[at] !== 1 || everReached[at] === 1) continue
        everReached[at] = 1
        places.push(at)
      }
      return places
    },
    async reachedBy(run) {
      take()
      await run()
      return take()
    },
    stop: () => session.post('Profiler.stopPreciseCoverage'),
    share: () => everReached.reduce((sum, one) => sum + one, 0) / length,
  }
}
