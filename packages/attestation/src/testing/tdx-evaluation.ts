/** Verifies a test machine with edited collateral, and returns the verdict. */
import type { TdxCollateral } from '../evidence.ts'
import { authenticateTdx } from '../tdx/authenticate-tdx.ts'
import { Transcript } from '../verdict.ts'
import { type TestIntel, testQeIdentity, testTcbInfo } from './test-intel.ts'
import type { TdxMachine } from './test-tdx-machine.ts'

export type TcbInfo = ReturnType<typeof testTcbInfo>
export type QeIdentity = ReturnType<typeof testQeIdentity>

export async function evaluate(
  intel: TestIntel,
  machine: Partial<TdxMachine>,
  edit: (tcbInfo: TcbInfo, qeIdentity: QeIdentity) => void = () => {},
) {
  const [tcbInfo, qeIdentity] = [testTcbInfo(), testQeIdentity()]
  edit(tcbInfo, qeIdentity)
  return verify(intel, machine, await intel.makeCollateral(tcbInfo, qeIdentity))
}

export async function verify(
  intel: TestIntel,
  machine: Partial<TdxMachine>,
  collateral: Partial<TdxCollateral>,
) {
  const transcript = new Transcript()
  const evidence = await intel.attest(machine, collateral)
  try {
    const claims = await authenticateTdx(evidence, intel.context, transcript)
    return { tcb: claims.tcb, code: undefined, last: undefined }
  } catch (error) {
    const last = transcript.checks.at(-1)
    return { tcb: undefined, code: (error as { code?: string }).code, last: last?.id }
  }
}
