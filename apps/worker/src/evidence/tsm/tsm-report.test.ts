import { afterEach, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bytes } from '@privatemode/protocol/envelope'
import { rejection, thrown } from '../../../../../test/rejection.ts'
import {
  errno,
  type FakeKernel,
  type FakeKernelOptions,
  fakeKernel,
} from '../testing/fake-kernel.ts'
import { detectCpu } from './detect-cpu.ts'
import { configfsTree, type ReportTree } from './report-tree.ts'
import { TsmReports } from './tsm-report.ts'

const input = Uint8Array.from({ length: 64 }, (_, index) => index)
const echo = async (inblob: Uint8Array): Promise<Bytes> => Uint8Array.of(0xaa, ...inblob)
const kernels: FakeKernel[] = []

function kernel(change: Partial<FakeKernelOptions> = {}): FakeKernel {
  const made = fakeKernel({ provider: 'sev_guest', report: echo, ...change })
  kernels.push(made)
  return made
}

const reports = (tree: ReportTree, timeoutMs = 60_000) => new TsmReports(tree, { timeoutMs })

afterEach(() => {
  for (const made of kernels.splice(0)) made.dispose()
})

test('a report covers the given input, and its entry is removed', async () => {
  const auxblob = async () => Uint8Array.of(1, 2, 3)
  const tree = kernel({ auxblob })
  const report = await reports(tree).read(input)
  expect(report.provider).toBe('sev_guest')
  expect(report.outblob).toEqual(Uint8Array.of(0xaa, ...input))
  expect(report.auxblob).toEqual(Uint8Array.of(1, 2, 3))
  expect(tree.entries()).toEqual([])
})

test('a provider without host certificates has an empty table', async () => {
  const report = await reports(kernel({ provider: 'tdx_guest' })).read(input)
  expect(report.auxblob.length).toBe(0)
})

test('a report is refused if another program wrote to the entry in between', async () => {
  const tree = kernel({ disturb: (bump) => bump() })
  expect(await rejection(reports(tree).read(input))).toMatchObject({ code: 'report_conflict' })
  expect(tree.entries()).toEqual([])
})

test('a write that the kernel did not accept is a conflict, too', async () => {
  const tree = kernel()
  const read: ReportTree['read'] = async (entry, attribute, limit) =>
    attribute === 'outblob' || attribute === 'auxblob'
      ? new Uint8Array(8)
      : tree.read(entry, attribute, limit)
  const deaf = { ...tree, write: async () => {}, read }
  expect(await rejection(reports(deaf).read(input))).toMatchObject({ code: 'report_conflict' })
})

test('below a service module, the lowest allowed privilege level is requested', async () => {
  const levels: number[] = []
  const report = async (inblob: Uint8Array, privilege: number) => {
    levels.push(privilege)
    return echo(inblob)
  }
  await reports(kernel({ report, privilegeFloor: 2 })).read(input)
  await reports(kernel({ report, privilegeFloor: 0 })).read(input)
  expect(levels).toEqual([2, 0])
  const odd = reports(kernel({ report, privilegeFloor: 9 })).read(input)
  expect(await rejection(odd)).toMatchObject({ code: 'report_unavailable' })
})

test('an input of the wrong length is refused before the kernel is involved', () => {
  const tree = kernel()
  expect(() => reports(tree).read(new Uint8Array(63))).toThrow('63 bytes, expected 64')
  expect(tree.peak()).toBe(0)
})

test('a report longer than the kernel makes them is refused', async () => {
  const report = async () => new Uint8Array(32 * 1024 + 1)
  expect(await thrown(reports(kernel({ report })).read(input))).toThrow('over 32768 bytes')
})

test('concurrent requests get their own reports, two entries at a time', async () => {
  const tree = kernel()
  const source = reports(tree)
  const inputs = Array.from({ length: 20 }, (_, n) => new Uint8Array(64).fill(n))
  const made = await Promise.all(inputs.map((one) => source.read(one)))
  expect(made.map(({ outblob }) => outblob[1])).toEqual(inputs.map((one) => one[0]))
  expect(tree.peak()).toBeLessThanOrEqual(2)
  expect(tree.entries()).toEqual([])
})

test('an unresponsive kernel costs a bounded wait and a bounded number of entries', async () => {
  const hung = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  let asking = 0
  const report = async (inblob: Uint8Array) => {
    asking += 1
    if (asking === 2) begun.resolve()
    await hung.promise
    return echo(inblob)
  }
  const tree = kernel({ report })
  const source = reports(tree, 500)
  const asked = Array.from({ length: 40 }, () => source.read(input))
  const codes = await Promise.all(asked.map((one) => one.catch((error) => error.code)))
  expect(codes.filter((code) => code === 'report_unavailable').length).toBe(34)
  expect(codes.filter((code) => code === 'evidence_overloaded').length).toBe(6)
  await begun.promise
  // Requests that timed out in the queue never began, and those that began keep their slot.
  expect(tree.entries().length).toBe(2)
  const next = source.read(input).catch((error) => error.code)
  expect(tree.peak()).toBe(2)
  hung.resolve()
  expect(await next).not.toBe('evidence_overloaded')
  while (tree.entries().length > 0) await new Promise((resolve) => setTimeout(resolve, 1))
  expect(asking).toBeLessThanOrEqual(3)
})

test('the kind of machine is detected from its provider', async () => {
  expect(await detectCpu(reports(kernel()), undefined)).toBe('snp')
  expect(await detectCpu(reports(kernel({ provider: 'tdx_guest' })), undefined)).toBe('tdx')
  expect(await detectCpu(reports(kernel({ provider: 'tdx_guest' })), 'tdx')).toBe('tdx')
})

test('a machine of another or unknown kind is refused', async () => {
  const code = 'no_confidential_hardware'
  const other = detectCpu(reports(kernel()), 'tdx')
  expect(await rejection(other)).toMatchObject({
    code,
    message: expect.stringMatching(/is a snp machine.*is tdx/),
  })
  for (const provider of ['arm_cca_guest', 'constructor', '']) {
    const unknown = detectCpu(reports(kernel({ provider })), undefined)
    expect(await rejection(unknown)).toMatchObject({
      code,
      message: expect.stringContaining('does not know'),
    })
  }
})

test.each([
  ['ENOENT', /there is no .* Linux 6.7 .* sev-guest or tdx-guest/],
  ['ENXIO', /has no provider; load the module/],
  ['EACCES', /run as root/],
  ['EIO', /does not work as expected/],
])('if the tree fails with %s, the error names the remedy', async (code, message) => {
  const tree = { ...kernel(), create: () => Promise.reject(errno(code)) }
  const found = detectCpu(reports(tree), undefined)
  expect(await rejection(found)).toMatchObject({
    code: 'no_confidential_hardware',
    message: expect.stringMatching(message),
  })
})

test('real files are written in place, read whole, and never created', async () => {
  const path = mkdtempSync(join(tmpdir(), 'configfs-'))
  try {
    const tree = configfsTree(path)
    await tree.create('entry')
    expect(await rejection(tree.create('entry'))).toMatchObject({ code: 'EEXIST' })
    expect(await rejection(tree.write('entry', 'inblob', input))).toMatchObject({ code: 'ENOENT' })
    writeFileSync(join(path, 'entry', 'inblob'), '')
    await tree.write('entry', 'inblob', input)
    expect(new Uint8Array(readFileSync(join(path, 'entry', 'inblob')))).toEqual(input)
    expect(await tree.read('entry', 'inblob', 64)).toEqual(input)
    expect(await thrown(tree.read('entry', 'inblob', 63))).toThrow('over 63 bytes')
    rmSync(join(path, 'entry', 'inblob'))
    await tree.remove('entry')
    expect(await rejection(tree.read('entry', 'outblob', 1))).toMatchObject({ code: 'ENOENT' })
  } finally {
    rmSync(path, { recursive: true })
  }
})

test('a missing directory is refused with the remedy, using real files', async () => {
  const tree = configfsTree(join(tmpdir(), 'no-such-directory', 'report'))
  const found = detectCpu(reports(tree), undefined)
  expect(await rejection(found)).toMatchObject({ message: expect.stringContaining('there is no') })
})
