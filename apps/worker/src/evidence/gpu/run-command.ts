/** Runs a program for its output, with limits on time and length, without a shell. */
import type { Bytes } from '@privatemode/protocol/envelope'
import { WorkerError } from '../../worker-error.ts'

export type CommandLimits = { readonly timeoutMs: number; readonly maxBytes: number }

const messageBytes = 512

/** Returns its standard output; anything but a clean exit within the limits is an error. */
export async function runCommand(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  limits: CommandLimits,
): Promise<Bytes> {
  const [program = ''] = command
  const started = spawn(command, env)
  const kill = () => started.kill('SIGKILL')
  const expired = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    expired.reject(failed(`${program} took over ${limits.timeoutMs} ms`))
  }, limits.timeoutMs)
  const message = readStart(started.stderr)
  const finished = (async () => {
    const output = await readAll(started.stdout, limits.maxBytes, program)
    const exitCode = await started.exited
    if (exitCode === 0) return output
    throw failed(`${program} ended with ${exitCode}: ${await message}`)
  })()
  finished.catch(() => {}) // not awaited once the time is up
  try {
    return await Promise.race([finished, expired.promise])
  } catch (error) {
    kill()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

function spawn(command: readonly string[], env: Readonly<Record<string, string>>) {
  try {
    const streams = { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' } as const
    return Bun.spawn([...command], { env, ...streams })
  } catch (cause) {
    throw failed(
      `${command[0]} cannot be started; install NVIDIA's attestation tool or set --gpuCommand`,
      cause,
    )
  }
}

async function readAll(
  stream: ReadableStream<Uint8Array>,
  maxBytes: number,
  program: string,
): Promise<Bytes> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of stream) {
    length += piece.length
    if (length > maxBytes) throw failed(`${program} wrote over ${maxBytes} bytes`)
    pieces.push(piece)
  }
  return new Uint8Array(Buffer.concat(pieces))
}

/** Returns the start of its error output; the rest is drained, so that the program can exit. */
async function readStart(stream: ReadableStream<Uint8Array>): Promise<string> {
  let kept = Buffer.alloc(0)
  try {
    for await (const piece of stream) {
      if (kept.length < messageBytes) kept = Buffer.concat([kept, piece]).subarray(0, messageBytes)
    }
  } catch {
    // It was killed: return what was read so far.
  }
  return (
    kept
      .toString('utf8')
      .replace(/[^\x20-\x7e]+/g, ' ')
      .trim() || 'no message'
  )
}

const failed = (message: string, cause?: unknown) =>
  new WorkerError('gpu_evidence_unavailable', message, { cause })
