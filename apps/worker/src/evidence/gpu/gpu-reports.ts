/** Evidence of the GPUs in this machine, from a command that prints it. */
import { Turns } from '../turns.ts'
import { type GpuReport, parseGpuOutput } from './parse-gpu-output.ts'
import { runCommand } from './run-command.ts'

export type GpuSettings = {
  /** Argument vector; one of the arguments contains `{nonce}`. */
  readonly command: readonly string[]
  readonly count: number
  readonly timeoutMs: number
  readonly env: Readonly<Record<string, string | undefined>>
}

/** A report with a chain of six certificates is 14 kB in base64; sixteen GPUs fit four times over. */
const maxOutputBytes = 1024 * 1024
/** What the command needs to find its libraries. It does not get the rest of our environment. */
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
    // One run at a time: every run queries every GPU.
    this.#turns = new Turns({ ...named, atOnce: 1, waiting: 16, timeoutMs })
  }

  /** Reports that every GPU signed over this 32-byte nonce; all of them, or an error. */
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
