/** Wall clocks that jump, and certificates and keys that expire because of it. */
import type { Fault } from '../fault.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { identityDays } from '../fleet/manifests.ts'
import type { Part } from '../fleet/part.ts'

const hour = 3_600
const day = 24 * hour

const obstacle = (fleet: Fleet) =>
  fleet.clocks === undefined ? 'libfaketime is not installed' : undefined

type Choose = (fleet: Fleet) => readonly Part[]

function jump(name: string, choose: Choose, seconds: readonly number[]): Fault {
  return {
    name,
    family: 'clock',
    holdMs: 0,
    limitMs: 30_000,
    obstacle,
    async inject({ fleet }) {
      const names = choose(fleet).map((part) => part.name)
      for (const ahead of seconds) {
        for (const each of names) fleet.clocks!.set(each, ahead)
        await Bun.sleep(4_500)
      }
      return async () => {
        for (const each of names) fleet.clocks!.set(each, 0)
        await Bun.sleep(1_200) // until then a part may still use the old time
      }
    },
  }
}

const proxy: Choose = (fleet) => [fleet.proxy]
const worker: Choose = (fleet) => fleet.workers.slice(0, 1)
const gateways: Choose = (fleet) => fleet.gateways
const all: Choose = (fleet) => fleet.parts

export const clockFaults: readonly Fault[] = [
  jump("the proxy's clock jumps an hour ahead and back", proxy, [hour]),
  jump("the proxy's clock jumps an hour back and again", proxy, [-hour]),
  jump("a worker's clock jumps an hour ahead, a day back, and again", worker, [hour, -day]),
  jump("the gateways' clocks jump a day ahead and back", gateways, [day]),
  jump('all clocks jump ahead three times and back', all, [600, 1_200, 1_800]),
  jump('worker keys rotate: all clocks pass their time', all, [13 * hour]),
  jump('attestation certificates expire: clocks pass their end', all, [(identityDays + 1) * day]),
]
