/** The model's attestation step with real evidence: any machine's, shown with any machine's statement. */
import { type Evidence, formatStatement, verifyWorker } from '@privatemode/attestation'
import { type Bytes, formatHex } from '@privatemode/protocol/envelope'
import { reportData } from '../../packages/attestation/src/binding.ts'
import {
  type SoftwareWorld,
  softwareWorld,
} from '../../packages/attestation/src/testing/software-world.ts'
import { sealKeyId } from '../../packages/protocol/src/envelope/session.ts'

/** As session-keys.pml numbers them; A and B, the good ones, are 0 and 1. */
const [old, attackers] = [2, 3]

/** Whether the client accepts the key in `offered`'s statement, presented with evidence of `machine`. */
export async function attestAs(machine: number, offered: number): Promise<boolean> {
  const world = await softwareWorld()
  const evidence = await evidenceOf(world, machine)
  const statement = await statementOf(world, offered)
  try {
    await verifyWorker({ ...(await world.inputs()), statement, evidence })
    return true
  } catch {
    return false
  }
}

async function statementOf({ statement }: SoftwareWorld, machine: number): Promise<Bytes> {
  const publicKey = new Uint8Array(1216).fill(machine + 1)
  const id = formatHex(await sealKeyId(publicKey))
  return formatStatement({ ...statement, sealKey: { ...statement.sealKey, id, publicKey } })
}

/** Bound to the machine's own statement; an old one's was made for another nonce. */
async function evidenceOf(world: SoftwareWorld, machine: number): Promise<Evidence> {
  const statement = await statementOf(world, machine)
  switch (machine) {
    case attackers:
      return world.attest(statement, { measurement: new Uint8Array(48).fill(1) })
    case old: {
      const before = { nonce: new Uint8Array(32).fill(1), statement, deviceReports: [] }
      return world.attest(statement, { reportData: await reportData(before) })
    }
    default:
      return world.attest(statement)
  }
}
