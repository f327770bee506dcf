/** Ports of loopback for programs that are told theirs before they listen. */

/** Where systems take ports for connections and for listeners that name none: from here on upwards. */
const firstTaken = 32_768
const first = 12_000

/**
 * Ports that were free a moment ago. They lie below those that the system gives away by itself: what
 * other tests open meanwhile does not take them, however long the program needs to start.
 */
export function freePorts(count: number): number[] {
  const ports = new Set<number>()
  for (let tries = 0; ports.size < count; tries++) {
    if (tries > 1000) throw new Error('no port of loopback is free')
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
