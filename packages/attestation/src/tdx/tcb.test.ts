import { expect, test } from 'bun:test'
import { evaluate } from '../testing/tdx-evaluation.ts'
import { makeTestIntel } from '../testing/test-intel.ts'
import { type TdxMachine, testMachine } from '../testing/test-tdx-machine.ts'

const intel = await makeTestIntel()

const svn = (...values: number[]) => Uint8Array.from({ length: 16 }, (_, i) => values[i] ?? 0)
const component = (index: number, value: number) =>
  testMachine.components.map((current, i) => (i === index ? value : current))

test('the first level reached decides, and its advisories are reported', async () => {
  const { tcb } = await evaluate(intel, { pceSvn: 12 })
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
    const { tcb, code } = await evaluate(intel, { components: component(index, value - 1) })
    expect(tcb?.status ?? code).toBe(index < 2 ? 'OutOfDate' : 'tcb_too_old')
  }
})

test('a platform below every level is refused although its module is up to date', async () => {
  const { code, last } = await evaluate(intel, { components: component(7, 3) })
  expect({ code, last }).toEqual({ code: 'tcb_too_old', last: 'tdx/platform-tcb' })
})

test('PCESVN below every level is refused', async () => {
  expect(await evaluate(intel, { pceSvn: 4 })).toMatchObject({ code: 'tcb_too_old' })
})

test('TEE_TCB_SVN counts from index 2 on if the module has its own identity', async () => {
  expect((await evaluate(intel, { teeTcbSvn: svn(6, 1, 2) })).tcb?.status).toBe('OutOfDate')
  expect((await evaluate(intel, { teeTcbSvn: svn(6, 1, 1) })).code).toBe('tcb_too_old')
  // Index 0 is the module's minor version here, not a component to compare with the platform's.
  const raised = await evaluate(intel, {}, (tcbInfo) => {
    for (const level of tcbInfo.tcbLevels) Object.assign(level.tcb, withFirst(level.tcb, 200))
  })
  expect(raised.tcb?.status).toBe('UpToDate')
})

test('a first-generation module is evaluated by all of TEE_TCB_SVN and by its signer', async () => {
  expect((await evaluate(intel, { teeTcbSvn: svn(5, 0, 3) })).tcb).toMatchObject({
    status: 'UpToDate',
    moduleStatus: undefined,
  })
  expect((await evaluate(intel, { teeTcbSvn: svn(4, 0, 3) })).tcb?.status).toBe('OutOfDate')
  expect((await evaluate(intel, { teeTcbSvn: svn(2, 0, 3) })).code).toBe('tcb_too_old')
  const signer = { teeTcbSvn: svn(5, 0, 3), mrSignerSeam: new Uint8Array(48).fill(1) }
  expect(await evaluate(intel, signer)).toMatchObject({ last: 'tdx/module-signer' })
  const attributes = {
    teeTcbSvn: svn(5, 0, 3),
    seamAttributes: Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0),
  }
  expect(await evaluate(intel, attributes)).toMatchObject({ last: 'tdx/module-attributes' })
})

test('an old module makes an up-to-date platform out of date', async () => {
  const { tcb } = await evaluate(intel, { teeTcbSvn: svn(5, 1, 3) })
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
  expect(await evaluate(intel, machine)).toMatchObject({ code, last })
})

test('an old QE makes the overall status out of date, and a bit outside the mask changes nothing', async () => {
  expect((await evaluate(intel, { qeIsvSvn: 3 })).tcb).toMatchObject({
    status: 'OutOfDate',
    qeStatus: 'OutOfDate',
    advisoryIds: ['SA-QE'],
  })
  const outsideMask = {
    qeAttributes: Uint8Array.of(0x11, ...new Uint8Array(7), 0xff, ...new Uint8Array(7)),
  }
  expect((await evaluate(intel, outsideMask)).tcb?.status).toBe('UpToDate')
})

test('a revoked level is never authentic', async () => {
  const verdict = await evaluate(intel, {}, (tcbInfo) => {
    tcbInfo.tcbLevels[0]!.tcbStatus = 'Revoked'
  })
  expect(verdict).toMatchObject({ code: 'tcb_too_old', last: 'tdx/tcb-status' })
})

function withFirst(tcb: object, value: number) {
  const { tdxtcbcomponents } = tcb as { tdxtcbcomponents: { svn: number }[] }
  return { tdxtcbcomponents: [{ svn: value }, { svn: value }, ...tdxtcbcomponents.slice(2)] }
}
