/** Runs one program for its output, within limits of time and length; no shell is involved. */
import type { Bytes } from '@privatemode/protocol/envelope'
import { WorkerError } from '../../worker-error.ts'

export type CommandLimits = { readonly timeoutMs: number; readonly maxBytes: number }

const messageBytes = 512

/** What it wrote to its standard output; anything but a clean end within the limits is an error. */
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
  finished.catch(() => {}) // after the time is up nobody waits for it
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

/** The start of what it complains about; the rest is read and dropped, so that it can end. */
async function readStart(stream: ReadableStream<Uint8Array>): Promise<string> {
  let kept = Buffer.alloc(0)
  try {
    for await (const piece of stream) {
      if (kept.length < messageBytes) kept = Buffer.concat([kept, piece]).subarray(0, messageBytes)
    }
  } catch {
    // It was killed; what came before is what there is.
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
