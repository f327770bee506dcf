import { beforeAll, expect, test } from 'bun:test'
import type { TdxCollateral } from '../evidence.ts'
import {
  makeTestIntel,
  type TestIntel,
  testQeIdentity,
  testTcbInfo,
} from '../testing/test-intel.ts'
import { type TdxMachine, testMachine } from '../testing/test-tdx-machine.ts'
import { Transcript } from '../verdict.ts'
import { authenticateTdx } from './authenticate-tdx.ts'

let intel: TestIntel

beforeAll(async () => {
  intel = await makeTestIntel()
})

type TcbInfo = ReturnType<typeof testTcbInfo>
type QeIdentity = ReturnType<typeof testQeIdentity>

async function evaluate(
  machine: Partial<TdxMachine>,
  edit: (tcbInfo: TcbInfo, qeIdentity: QeIdentity) => void = () => {},
) {
  const [tcbInfo, qeIdentity] = [testTcbInfo(), testQeIdentity()]
  edit(tcbInfo, qeIdentity)
  return verify(machine, await intel.makeCollateral(tcbInfo, qeIdentity))
}

async function verify(machine: Partial<TdxMachine>, collateral: Partial<TdxCollateral>) {
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

const svn = (...values: number[]) => Uint8Array.from({ length: 16 }, (_, i) => values[i] ?? 0)
const component = (index: number, value: number) =>
  testMachine.components.map((current, i) => (i === index ? value : current))

test('the first level reached decides, and its advisories are told', async () => {
  const { tcb } = await evaluate({ pceSvn: 12 })
  expect(tcb).toMatchObject({
    status: 'OutOfDate',
    platformStatus: 'OutOfDate',
    moduleStatus: 'UpToDate',
  })
  expect(tcb?.advisoryIds).toEqual(['SA-PLATFORM'])
})

test('each component of CPUSVN counts', async () => {
  for (const [index, value] of testMachine.components.entries()) {
    if (value === 0) continue
    const { tcb, code } = await evaluate({ components: component(index, value - 1) })
    expect(tcb?.status ?? code).toBe(index < 2 ? 'OutOfDate' : 'tcb_too_old')
  }
})

test('a platform below every level is refused although its module is up to date', async () => {
  const { code, last } = await evaluate({ components: component(7, 3) })
  expect({ code, last }).toEqual({ code: 'tcb_too_old', last: 'tdx/platform-tcb' })
})

test('PCESVN below every level is refused', async () => {
  expect(await evaluate({ pceSvn: 4 })).toMatchObject({ code: 'tcb_too_old' })
})

test('TEE_TCB_SVN counts from index 2 on where the module has its own identity', async () => {
  expect((await evaluate({ teeTcbSvn: svn(6, 1, 2) })).tcb?.status).toBe('OutOfDate')
  expect((await evaluate({ teeTcbSvn: svn(6, 1, 1) })).code).toBe('tcb_too_old')
  // Index 0 is the module's minor version there, not a component to compare with the platform's.
  const raised = await evaluate({}, (tcbInfo) => {
    for (const level of tcbInfo.tcbLevels) Object.assign(level.tcb, withFirst(level.tcb, 200))
  })
  expect(raised.tcb?.status).toBe('UpToDate')
})

test('a first-generation module is judged by all of TEE_TCB_SVN and by the module signer', async () => {
  expect((await evaluate({ teeTcbSvn: svn(5, 0, 3) })).tcb).toMatchObject({
    status: 'UpToDate',
    moduleStatus: undefined,
  })
  expect((await evaluate({ teeTcbSvn: svn(4, 0, 3) })).tcb?.status).toBe('OutOfDate')
  expect((await evaluate({ teeTcbSvn: svn(2, 0, 3) })).code).toBe('tcb_too_old')
  const signer = { teeTcbSvn: svn(5, 0, 3), mrSignerSeam: new Uint8Array(48).fill(1) }
  expect(await evaluate(signer)).toMatchObject({ last: 'tdx/module-signer' })
  const attributes = {
    teeTcbSvn: svn(5, 0, 3),
    seamAttributes: Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0),
  }
  expect(await evaluate(attributes)).toMatchObject({ last: 'tdx/module-attributes' })
})

test('an old module makes an up-to-date platform out of date', async () => {
  const { tcb } = await evaluate({ teeTcbSvn: svn(5, 1, 3) })
  expect(tcb).toMatchObject({
    status: 'OutOfDate',
    platformStatus: 'UpToDate',
    moduleStatus: 'OutOfDate',
    advisoryIds: ['SA-MODULE'],
  })
})

test.each<[string, Partial<TdxMachine>, string, string]>([
  ['a module below every level', { teeTcbSvn: svn(3, 1, 3) }, 'tcb_too_old', 'tdx/module-tcb'],
  [
    'a module without identity',
    { teeTcbSvn: svn(6, 3, 3) },
    'collateral_mismatch',
    'tdx/module-identity',
  ],
  [
    'a module of another signer',
    { mrSignerSeam: new Uint8Array(48).fill(1) },
    'collateral_mismatch',
    'tdx/module-signer',
  ],
  [
    'a module with other attributes',
    { seamAttributes: Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 1) },
    'collateral_mismatch',
    'tdx/module-attributes',
  ],
  [
    'a QE of another signer',
    { qeMrSigner: new Uint8Array(32) },
    'collateral_mismatch',
    'tdx/qe-signer',
  ],
  [
    'another product of the same signer',
    { qeIsvProdId: 1 },
    'collateral_mismatch',
    'tdx/qe-product',
  ],
  [
    'a QE with another MISCSELECT',
    { qeMiscSelect: Uint8Array.of(0, 0, 0, 1) },
    'collateral_mismatch',
    'tdx/qe-miscselect',
  ],
  [
    'a debuggable QE',
    { qeAttributes: Uint8Array.of(0x13, ...new Uint8Array(15)) },
    'collateral_mismatch',
    'tdx/qe-attributes',
  ],
  ['a QE below every level', { qeIsvSvn: 1 }, 'tcb_too_old', 'tdx/qe-tcb'],
  [
    'another kind of platform',
    { fmspc: Uint8Array.of(1, 2, 3, 4, 5, 6) },
    'collateral_mismatch',
    'tdx/fmspc',
  ],
  ['another PCE', { pceId: Uint8Array.of(0, 1) }, 'collateral_mismatch', 'tdx/pce-id'],
])('%s is refused', async (_, machine, code, last) => {
  expect(await evaluate(machine)).toMatchObject({ code, last })
})

test('an old QE makes the whole out of date, and a bit outside the mask changes nothing', async () => {
  expect((await evaluate({ qeIsvSvn: 3 })).tcb).toMatchObject({
    status: 'OutOfDate',
    qeStatus: 'OutOfDate',
    advisoryIds: ['SA-QE'],
  })
  const outsideMask = {
    qeAttributes: Uint8Array.of(0x11, ...new Uint8Array(7), 0xff, ...new Uint8Array(7)),
  }
  expect((await evaluate(outsideMask)).tcb?.status).toBe('UpToDate')
})

test('a revoked level is never authentic', async () => {
  const verdict = await evaluate({}, (tcbInfo) => {
    tcbInfo.tcbLevels[0]!.tcbStatus = 'Revoked'
  })
  expect(verdict).toMatchObject({ code: 'tcb_too_old', last: 'tdx/tcb-status' })
})

test.each<[string, (tcbInfo: TcbInfo, qeIdentity: QeIdentity) => void]>([
  ['TCB info of SGX', (tcbInfo) => Object.assign(tcbInfo, { id: 'SGX' })],
  ['TCB info of version 2', (tcbInfo) => Object.assign(tcbInfo, { version: 2 })],
  ['TCB info of another type', (tcbInfo) => Object.assign(tcbInfo, { tcbType: 1 })],
  ['TCB info without levels', (tcbInfo) => Object.assign(tcbInfo, { tcbLevels: [] })],
  ['a level of 15 components', (tcbInfo) => tcbInfo.tcbLevels[0]!.tcb && dropComponent(tcbInfo)],
  [
    'a status nobody knows',
    (tcbInfo) => Object.assign(tcbInfo.tcbLevels[0]!, { tcbStatus: 'Fine' }),
  ],
  ['a member nobody knows', (tcbInfo) => Object.assign(tcbInfo, { exception: true })],
  ['a FMSPC of 5 bytes', (tcbInfo) => Object.assign(tcbInfo, { fmspc: '90c06f0000' })],
  ['an identity of another enclave', (_, qe) => Object.assign(qe, { id: 'QE' })],
  ['an identity of version 1', (_, qe) => Object.assign(qe, { version: 1 })],
  ['a mask of 3 bytes', (_, qe) => Object.assign(qe, { miscselectMask: 'FFFFFF' })],
])('%s is malformed collateral, also where it is well signed', async (_, edit) => {
  expect(await evaluate({}, edit)).toMatchObject({ code: 'collateral_malformed' })
})

test('collateral past its window or before it is stale', async () => {
  const late = { nextUpdate: '2026-01-01T11:59:59Z' }
  const early = { issueDate: '2026-01-01T12:00:01Z' }
  for (const window of [late, early]) {
    expect(await evaluate({}, (tcbInfo) => Object.assign(tcbInfo, window))).toMatchObject({
      code: 'collateral_stale',
      last: 'tdx/tcb-info/window',
    })
    expect(await evaluate({}, (_, qe) => Object.assign(qe, window))).toMatchObject({
      code: 'collateral_stale',
      last: 'tdx/qe-identity/window',
    })
  }
  const edges = await evaluate({}, (tcbInfo) =>
    Object.assign(tcbInfo, {
      issueDate: '2026-01-01T12:00:00Z',
      nextUpdate: '2026-01-01T12:00:00Z',
    }),
  )
  expect(edges.tcb?.status).toBe('UpToDate')
})

test('the signature is over the text as it came: spaces that JSON ignores break it', async () => {
  const collateral = await intel.makeCollateral()
  for (const name of ['tcb_info', 'qe_identity'] as const) {
    const respaced = collateral[name].replace('":', '": ')
    expect(JSON.parse(respaced)).toEqual(JSON.parse(collateral[name]))
    const verdict = await verify({}, { ...collateral, [name]: respaced })
    expect(verdict).toMatchObject({ code: 'collateral_invalid' })
  }
})

test('the two documents cannot stand in for each other', async () => {
  const collateral = await intel.makeCollateral()
  const swapped = {
    ...collateral,
    tcb_info: collateral.qe_identity,
    tcb_info_signature: collateral.qe_identity_signature,
  }
  expect(await verify({}, swapped)).toMatchObject({ code: 'collateral_malformed' })
})

function withFirst(tcb: object, value: number) {
  const { tdxtcbcomponents } = tcb as { tdxtcbcomponents: { svn: number }[] }
  return { tdxtcbcomponents: [{ svn: value }, { svn: value }, ...tdxtcbcomponents.slice(2)] }
}

function dropComponent(tcbInfo: TcbInfo): void {
  const { sgxtcbcomponents } = tcbInfo.tcbLevels[0]!.tcb as { sgxtcbcomponents: object[] }
  sgxtcbcomponents.pop()
}
