import { expect, test } from 'bun:test'
import { evaluate, type QeIdentity, type TcbInfo, verify } from '../testing/tdx-evaluation.ts'
import { makeTestIntel } from '../testing/test-intel.ts'

const intel = await makeTestIntel()

test.each<[string, (tcbInfo: TcbInfo, qeIdentity: QeIdentity) => void]>([
  ['TCB info of SGX', (tcbInfo) => Object.assign(tcbInfo, { id: 'SGX' })],
  ['TCB info of version 2', (tcbInfo) => Object.assign(tcbInfo, { version: 2 })],
  ['TCB info of another type', (tcbInfo) => Object.assign(tcbInfo, { tcbType: 1 })],
  ['TCB info without levels', (tcbInfo) => Object.assign(tcbInfo, { tcbLevels: [] })],
  ['a level of 15 components', (tcbInfo) => tcbInfo.tcbLevels[0]!.tcb && dropComponent(tcbInfo)],
  ['an unknown status', (tcbInfo) => Object.assign(tcbInfo.tcbLevels[0]!, { tcbStatus: 'Fine' })],
  ['an unknown member', (tcbInfo) => Object.assign(tcbInfo, { exception: true })],
  ['a FMSPC of 5 bytes', (tcbInfo) => Object.assign(tcbInfo, { fmspc: '90c06f0000' })],
  ['an identity of another enclave', (_, qe) => Object.assign(qe, { id: 'QE' })],
  ['an identity of version 1', (_, qe) => Object.assign(qe, { version: 1 })],
  ['a mask of 3 bytes', (_, qe) => Object.assign(qe, { miscselectMask: 'FFFFFF' })],
])('%s is malformed collateral, even if properly signed', async (_, edit) => {
  expect(await evaluate(intel, {}, edit)).toMatchObject({ code: 'collateral_malformed' })
})

test('collateral outside its validity window is stale', async () => {
  const late = { nextUpdate: '2026-01-01T11:59:59Z' }
  const early = { issueDate: '2026-01-01T12:00:01Z' }
  for (const window of [late, early]) {
    expect(await evaluate(intel, {}, (tcbInfo) => Object.assign(tcbInfo, window))).toMatchObject({
      code: 'collateral_stale',
      last: 'tdx/tcb-info/window',
    })
    expect(await evaluate(intel, {}, (_, qe) => Object.assign(qe, window))).toMatchObject({
      code: 'collateral_stale',
      last: 'tdx/qe-identity/window',
    })
  }
  const edges = await evaluate(intel, {}, (tcbInfo) =>
    Object.assign(tcbInfo, {
      issueDate: '2026-01-01T12:00:00Z',
      nextUpdate: '2026-01-01T12:00:00Z',
    }),
  )
  expect(edges.tcb?.status).toBe('UpToDate')
})

test('the signature covers the exact text: even white space that JSON ignores breaks it', async () => {
  const collateral = await intel.makeCollateral()
  for (const name of ['tcb_info', 'qe_identity'] as const) {
    const respaced = collateral[name].replace('":', '": ')
    expect(JSON.parse(respaced)).toEqual(JSON.parse(collateral[name]))
    const verdict = await verify(intel, {}, { ...collateral, [name]: respaced })
    expect(verdict).toMatchObject({ code: 'collateral_invalid' })
  }
})

test('the two documents cannot replace each other', async () => {
  const collateral = await intel.makeCollateral()
  const swapped = {
    ...collateral,
    tcb_info: collateral.qe_identity,
    tcb_info_signature: collateral.qe_identity_signature,
  }
  expect(await verify(intel, {}, swapped)).toMatchObject({ code: 'collateral_malformed' })
})

function dropComponent(tcbInfo: TcbInfo): void {
  const { sgxtcbcomponents } = tcbInfo.tcbLevels[0]!.tcb as { sgxtcbcomponents: object[] }
  sgxtcbcomponents.pop()
}
