/** A network of real packets on one machine, whose packets can be lost, delayed, duplicated, reordered and changed. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

export type PacketFaults = {
  /** Probabilities per packet. */
  readonly drop?: number
  readonly duplicate?: number
  readonly reorder?: number
  /** Flips one bit and keeps the checksum: the receiver's kernel notices. */
  readonly corrupt?: number
  /** Flips one bit of the payload and fixes the checksum: only the programs can notice. */
  readonly forge?: number
  readonly delayMs?: number
  readonly jitterMs?: number
}

export type PacketCounts = Readonly<
  Record<'packets' | 'drop' | 'duplicate' | 'reorder' | 'corrupt' | 'forge', number>
>

export type Wire = {
  /** The address to listen on. */
  readonly nearHost: string
  /** The address to connect to: every packet to it and back crosses the wire. */
  readonly farHost: string
  set(faults: PacketFaults): void
  counts(): Promise<PacketCounts>
  stop(): Promise<void>
}

/** Why a wire is not possible here, or undefined. */
export function wireObstacle(): string | undefined {
  if (process.platform !== 'linux') return 'packets are made with a TUN device of Linux'
  if (process.getuid?.() !== 0) return 'a TUN device needs the rights of root'
  if (!existsSync('/dev/net/tun')) return 'there is no /dev/net/tun'
  return Bun.which('ip') === null ? 'there is no ip program (iproute2)' : undefined
}

export async function startWire(seed: number): Promise<Wire> {
  const network = `10.${200 + (process.pid % 50)}.${(process.pid >> 6) % 250}`
  const device = `pmw${process.pid % 100_000}`
  const main = join(import.meta.dir, 'wire-main.ts')
  const child = Bun.spawn([process.execPath, main, device, network, `${seed}`], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const lines = readLines(child.stdout)
  const { value } = await lines.next()
  if (value !== 'ready') throw new Error('the wire did not start')
  const say = (message: object) => {
    child.stdin.write(`${JSON.stringify(message)}\n`)
    void child.stdin.flush()
  }
  return {
    nearHost: `${network}.1`,
    farHost: `${network}.2`,
    set: (faults) => say({ faults }),
    async counts() {
      say({ count: true })
      return JSON.parse((await lines.next()).value ?? '{}') as PacketCounts
    },
    async stop() {
      // The device goes with the process that made it.
      child.kill('SIGKILL')
      await child.exited
    },
  }
}

async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let held = ''
  for await (const chunk of stream) {
    held += decoder.decode(chunk, { stream: true })
    for (let end = held.indexOf('\n'); end >= 0; end = held.indexOf('\n')) {
      yield held.slice(0, end)
      held = held.slice(end + 1)
    }
  }
  return undefined
}
