/** Reports progress of long work as lines: one for each step and each tenth. */
import type { ModelProgress } from './models/index.ts'

const steps = {
  check: 'checking',
  download: 'downloading',
  unpack: 'unpacking',
  assemble: 'assembling',
  ready: 'ready',
} as const

export function progressLine(say: (line: string) => void): (progress: ModelProgress) => void {
  let last = ''
  return ({ model, step, doneBytes, totalBytes }) => {
    const tenth = totalBytes > 0 ? Math.floor((10 * doneBytes) / totalBytes) : 0
    const key = `${model} ${step} ${step === 'ready' ? '' : tenth}`
    if (key === last) return
    last = key
    const size = totalBytes > 0 ? ` ${megabytes(doneBytes)} of ${megabytes(totalBytes)} MB` : ''
    say(`${model}: ${steps[step]}${step === 'ready' ? '' : size}`)
  }
}

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(0)
