/** Evidence of the GPUs in this machine, through NVIDIA's own tool. */
import { Turns } from '../turns.ts'
import { type GpuReport, parseGpuOutput } from './parse-gpu-output.ts'
import { runCommand } from './run-command.ts'

export type GpuSettings = {
  /** Words, one of which has `{nonce}` in it. */
  readonly command: readonly string[]
  readonly count: number
  readonly timeoutMs: number
  readonly env: Readonly<Record<string, string | undefined>>
}

/** A report and a chain of six certificates is 14 kB in base64; sixteen GPUs fit four times. */
const maxOutputBytes = 1024 * 1024
/** What the tool needs to find its libraries. The rest of our environment is none of its business. */
const passedVariables = ['PATH', 'LD_LIBRARY_PATH', 'HOME', 'LANG', 'NVIDIA_VISIBLE_DEVICES']

export class GpuReports {
  readonly count: number
  readonly #settings: GpuSettings
  readonly #turns: Turns

  constructor(settings: GpuSettings) {
    this.count = settings.count
    this.#settings = settings
    const { timeoutMs } = settings
    const named = { what: 'evidence of the GPUs', code: 'gpu_evidence_unavailable' } as const
    // One after another: every run asks every GPU.
    this.#turns = new Turns({ ...named, atOnce: 1, waiting: 16, timeoutMs })
  }

  /** Reports that every GPU signed over this nonce of 32 bytes; all of them, or an error. */
  async read(nonce: Uint8Array): Promise<readonly GpuReport[]> {
    if (this.count === 0) return []
    const nonceHex = Buffer.from(nonce).toString('hex')
    const { command, env, timeoutMs, count } = this.#settings
    const words = command.map((word) => word.replaceAll('{nonce}', nonceHex))
    const limits = { timeoutMs, maxBytes: maxOutputBytes }
    const output = await this.#turns.run(() => runCommand(words, passOn(env), limits))
    return parseGpuOutput(output, nonceHex, count)
  }
}

function passOn(env: GpuSettings['env']): Record<string, string> {
  const passed: Record<string, string> = {}
  for (const name of passedVariables) {
    const value = env[name]
    if (value !== undefined) passed[name] = value
  }
  return passed
}
