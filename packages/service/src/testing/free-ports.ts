/** Loopback ports for programs that need to know theirs before they listen. */

/** Start of the ephemeral range, from which systems assign ports automatically. */
const firstTaken = 32_768
const first = 12_000

/**
 * Ports that were free a moment ago. They are below the ephemeral range, so that other tests do not
 * take them meanwhile, however long the program needs to start.
 */
export function freePorts(count: number): number[] {
  const ports = new Set<number>()
  for (let tries = 0; ports.size < count; tries++) {
    if (tries > 1000) throw new Error('no loopback port is free')
    const port = first + Math.floor(Math.random() * (firstTaken - first))
    if (isFree(port)) ports.add(port)
  }
  return [...ports]
}

export const freePort = (): number => freePorts(1)[0] as number

function isFree(port: number): boolean {
  try {
    Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true)
    return true
  } catch {
    return false
  }
}
