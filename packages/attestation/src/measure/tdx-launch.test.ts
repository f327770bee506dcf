/**
 * Compared with event logs and quotes from TDX machines, and with recorded values for Debian's
 * firmware (test/vectors/measure).
 */
import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { type Bytes, concatBytes, formatHex, parseHex, utf8 } from '../bytes.ts'
import { sha384 } from '../digest.ts'
import { parseQuote } from '../tdx/quote.ts'
import { readVector, readVectorText } from '../testing/vectors.ts'
import { authenticodeSha384 } from './authenticode.ts'
import { type BootEvent, listBootEvents, loadOptions, type TdxBoot } from './boot-events.ts'
import { foldEvents, measuredEvents, parseEventLog } from './event-log.ts'
import { parseFirmware } from './firmware-table.ts'
import { parseGuid } from './guid.ts'
import { measureTd } from './mrtd.ts'
import { writeTdHob } from './td-hob.ts'
import { readTdvfMetadata, type TdvfSection } from './tdvf-metadata.ts'

const read = (path: string) => JSON.parse(readVectorText(`measure/${path}`))
const hex = (text: string) => parseHex(text) ?? new Uint8Array(0)
const hexes = (registers: readonly Bytes[]) => registers.map(formatHex)

test('event logs of six machines replay to their registers', async () => {
  const logs = read('ccel/index.json')
  expect(logs.length).toBe(6)
  for (const { file, rtmr } of logs) {
    const events = parseEventLog(readVector(`measure/ccel/${file}`))
    expect(hexes(await foldEvents(measuredEvents(events)))).toEqual(rtmr)
  }
})

test('the log of a Google machine replays to what the chip signed', async () => {
  const quote = parseQuote(readVector('measure/ccel/google-cos-113.quote.bin'))
  const events = parseEventLog(readVector('measure/ccel/google-cos-113.bin'))
  const registers = await foldEvents(measuredEvents(events))
  expect(hexes(registers)).toEqual(hexes(quote.report.rtmrs))
})

test('a log that is truncated or uses another register is refused', () => {
  const log = readVector('measure/ccel/coco-direct-boot.bin')
  for (let length = 0; length < log.length - 40; length += 97) {
    const cut = () => parseEventLog(log.slice(0, length))
    // A log truncated between two events is shorter, and replays to different registers.
    try {
      cut()
    } catch (error) {
      expect(error).toMatchObject({ code: 'event_log_malformed' })
    }
  }
  const event = { register: 5, type: 1, digest: new Uint8Array(48), data: new Uint8Array(0) }
  expect(() => measuredEvents([event])).toThrow('register 5')
})

type Recorded = { sha384: string; what?: string; rtmr?: number }
const files = ['dstack-0.6.0-2g.json', 'dstack-ovmf-new-16g.json']

function sectionsOf(vector: { td_hob: { base: string; added_ranges: [string, string][] } }) {
  return vector.td_hob.added_ranges.map(
    ([at, size]): TdvfSection => ({
      kind: at === vector.td_hob.base ? 'hob' : 'memory',
      dataOffset: 0,
      dataSize: 0,
      at: Number(at),
      size: Number(size),
      isExtended: false,
      isAddedLater: false,
    }),
  )
}

test('the memory list of two machines is rebuilt byte for byte', async () => {
  for (const file of files) {
    const vector = read(`tdx-hardware/${file}`)
    const hob = writeTdHob(sectionsOf(vector), vector.memory_bytes)
    expect(formatHex(hob)).toBe(vector.td_hob.bytes_hex)
    expect(formatHex(await sha384(hob))).toBe(vector.td_hob.sha384)
  }
})

/** The CFV of real machines: an empty variable store, known by its digest. */
const emptyStore =
  '344bc51c980ba621aaa00da3ed7436f7d6e549197dfe699515dfa2c6583d95e6412af21c097d473155875ffd561d6790'

/** Replaces events whose preimages were not published with what the machine logged. */
function withLogged(events: BootEvent[], recorded: Readonly<Record<string, string>>): BootEvent[] {
  return events.map((event) => {
    const digest = recorded[event.name]
    return digest === undefined ? event : { ...event, digest: hex(digest) }
  })
}

async function predict(file: string) {
  const vector = read(`tdx-hardware/${file}`)
  const isNew = file.includes('new')
  const logged: Recorded[] = Array.isArray(vector.events)
    ? vector.events
    : [0, 1, 2].flatMap((rtmr) =>
        vector.events[`rtmr${rtmr}`].map((event: Recorded) => ({ ...event, rtmr })),
      )
  const of = (rtmr: number) => logged.filter((event) => event.rtmr === rtmr).map((e) => e.sha384)
  const [zero, one, two] = [of(0), of(1), of(2)]
  const acpiAt = isNew ? 10 : 8
  const boot: TdxBoot = {
    ovmf: isNew ? 'from-202505' : 'before-202505',
    tdHob: writeTdHob(sectionsOf(vector), vector.memory_bytes),
    configurationVolume: new Uint8Array(0),
    acpi: {
      loader: hex(zero[acpiAt] ?? ''),
      rsdp: hex(zero[acpiAt + 1] ?? ''),
      tables: hex(zero[acpiAt + 2] ?? ''),
    },
    ...(isNew && { smbios: hex(zero[acpiAt + 3] ?? '') }),
    secureBoot: new Uint8Array(0),
    kernelAuthenticode: hex(one[0] ?? ''),
    commandLine: '',
    initrdSha384: hex(two[1] ?? ''),
  }
  const events = withLogged(await listBootEvents(boot), {
    CFV: emptyStore,
    'command line': two[0] ?? '',
  })
  return { vector, logged, boot, events }
}

test('the events of a direct boot match the logs of two machines, in order', async () => {
  for (const file of files) {
    const { logged, events } = await predict(file)
    for (const rtmr of [0, 1, 2]) {
      const seen = events.filter((event) => event.rtmr === rtmr)
      const expected = logged.filter((event) => event.rtmr === rtmr)
      expect(seen.map(({ name, digest }) => `${name} ${formatHex(digest)}`)).toEqual(
        expected.map(({ sha384 }, index) => `${seen[index]?.name} ${sha384}`),
      )
    }
  }
})

test('the events of a direct boot fold to the registers that two chips signed', async () => {
  for (const file of files) {
    const { vector, events } = await predict(file)
    const [rtmr0, rtmr1, rtmr2] = hexes(await foldEvents(events))
    const quote = parseQuote(hex(vector.quote_hex))
    expect([rtmr0, rtmr1, rtmr2]).toEqual(hexes(quote.report.rtmrs).slice(0, 3))
    expect({ rtmr0, rtmr1, rtmr2 }).toMatchObject({
      rtmr0: vector.expected.rtmr0,
      rtmr1: vector.expected.rtmr1,
      rtmr2: vector.expected.rtmr2,
    })
  }
})

test('values that were never compared with a quote are marked as such', async () => {
  const { boot, events } = await predict('dstack-ovmf-new-16g.json')
  const basis = (name: string) => events.find((event) => event.name === name)?.basis
  expect(basis('SecureBoot')).toBe('compared')
  const withValue = await listBootEvents({ ...boot, secureBoot: new Uint8Array(1) })
  expect(withValue.find(({ name }) => name === 'SecureBoot')?.basis).toBe('from source')
  expect(
    ['TD HOB', 'kernel', 'command line', 'initrd', 'etc/acpi/tables', 'SMBIOS'].map(basis),
  ).toEqual(['compared', 'from source', 'from source', 'from source', 'from source', 'captured'])
})

test('kernel, command line and initrd of Debian fold to the recorded RTMR1 and RTMR2', async () => {
  const vector = read('tdx-debian/values.json')
  for (const [ovmf, name] of [
    ['from-202505', 'rtmr2'],
    ['before-202505', 'rtmr2_old_firmware'],
  ] as const) {
    const empty = new Uint8Array(48)
    const events = await listBootEvents({
      ovmf,
      tdHob: empty,
      configurationVolume: empty,
      acpi: { loader: empty, rsdp: empty, tables: empty },
      secureBoot: empty,
      kernelAuthenticode: hex(vector.kernel.authenticode_sha384),
      commandLine: vector.cmdline,
      initrdSha384: await sha384(readVector('measure/snp-debian/initrd-tiny.cpio')),
    })
    const [, rtmr1, rtmr2] = hexes(await foldEvents(events))
    expect(rtmr1).toBe(vector.rtmr1.value)
    expect(rtmr2).toBe(vector[name].value)
    const text = new TextDecoder('utf-16le').decode(
      loadOptions({ ovmf, commandLine: vector.cmdline }),
    )
    expect(text).toBe(`${vector[name].loadoptions}\0`)
  }
})

/** A firmware of four pages: extended code, a variable store that is not extended, and memory. */
function smallFirmware(change: (view: DataView, metadata: number) => void = () => {}): Bytes {
  const bytes = new Uint8Array(4 * 4096).map((_, index) => (index * 31) & 0xff)
  const view = new DataView(bytes.buffer)
  const base = 0x1_0000_0000 - bytes.length
  const metadata = 0x3000
  bytes.set(parseGuid('e9eaf9f3-168e-44d5-a8eb-7f4d8738f6ae'), metadata - 16)
  bytes.set(utf8('TDVF'), metadata)
  const sections = [
    [0x1000, 0x3000, base + 0x1000, 0x3000, 0, 1],
    [0, 0x1000, base, 0x1000, 1, 0],
    [0, 0, 0x809000, 0x2000, 2, 0],
    [0, 0, 0x810000, 0x1000, 3, 2],
  ] as const
  view.setUint32(metadata + 4, 16 + sections.length * 32, true)
  view.setUint32(metadata + 8, 1, true)
  view.setUint32(metadata + 12, sections.length, true)
  sections.forEach(([offset, raw, at, size, type, attributes], index) => {
    const start = metadata + 16 + index * 32
    view.setUint32(start, offset, true)
    view.setUint32(start + 4, raw, true)
    view.setBigUint64(start + 8, BigInt(at), true)
    view.setBigUint64(start + 16, BigInt(size), true)
    view.setUint32(start + 24, type, true)
    view.setUint32(start + 28, attributes, true)
  })
  const footer = bytes.length - 32 - 18
  const entry = footer - 22
  view.setUint32(entry, bytes.length - metadata, true)
  view.setUint16(entry + 4, 22, true)
  bytes.set(parseGuid('e47a6535-984a-4798-865e-4685a7bf8ec2'), entry + 6)
  view.setUint16(footer, 18 + 22, true)
  bytes.set(parseGuid('96b582de-1fb2-45f7-baea-a366c55a082d'), footer + 2)
  change(view, metadata)
  return bytes
}

const td = async (bytes: Bytes, order: 'by-page' | 'by-section' = 'by-page') => {
  const firmware = parseFirmware(bytes)
  return formatHex(await measureTd(firmware, readTdvfMetadata(firmware), order))
}

test('MRTD is the hash of every added page, and of the contents of the extended ones', async () => {
  const bytes = smallFirmware()
  const base = 0x1_0000_0000 - bytes.length
  const record = (name: string, at: number) => {
    const record = Buffer.alloc(128)
    record.write(name)
    record.writeBigUInt64LE(BigInt(at), 16)
    return record
  }
  const extended = (page: number) =>
    Array.from({ length: 16 }, (_, chunk) => [
      record('MR.EXTEND', base + page + chunk * 256),
      bytes.subarray(page + chunk * 256, page + chunk * 256 + 256),
    ]).flat()
  const pages = [0x1000, 0x2000, 0x3000]
  const rest = [base, 0x809000, 0x80a000].map((at) => record('MEM.PAGE.ADD', at))
  const sum = (parts: readonly Uint8Array[]) => {
    const hash = createHash('sha384')
    for (const part of parts) hash.update(part)
    return hash.digest('hex')
  }
  const add = (page: number) => record('MEM.PAGE.ADD', base + page)
  const byPage = pages.flatMap((page) => [add(page), ...extended(page)])
  expect(await td(bytes)).toBe(sum([...byPage, ...rest]))
  const bySection = [...pages.map(add), ...pages.flatMap(extended)]
  expect(await td(bytes, 'by-section')).toBe(sum([...bySection, ...rest]))
})

test('metadata with sections outside of the image, overlapping or of an unknown kind is refused', async () => {
  const changes: [string, (view: DataView, metadata: number) => void][] = [
    ['GUID', (view, at) => view.setUint8(at - 1, 0)],
    ['signature', (view, at) => view.setUint8(at, 0)],
    ['version', (view, at) => view.setUint32(at + 8, 2, true)],
    ['more sections', (view, at) => view.setUint32(at + 12, 5, true)],
    ['offset', (view, at) => view.setUint32(at + 16, 0x2000, true)],
    ['size', (view, at) => view.setUint32(at + 20, 0x2000, true)],
    ['beyond 4 GiB', (view, at) => view.setUint32(at + 28, 1, true)],
    ['overlap', (view, at) => view.setUint32(at + 16 + 64 + 8, 0x810000, true)],
    ['not aligned', (view, at) => view.setUint32(at + 16 + 64 + 8, 0x809001, true)],
    ['type', (view, at) => view.setUint32(at + 16 + 24, 4, true)],
    ['attributes', (view, at) => view.setUint32(at + 16 + 28, 4, true)],
    ['two stores', (view, at) => view.setUint32(at + 16 + 24, 1, true)],
  ]
  for (const [name, change] of changes) {
    const error = await td(smallFirmware(change)).catch((cause) => cause)
    expect(`${name}: ${error.code}`).toBe(`${name}: firmware_malformed`)
  }
})

/** A PE program with one section and space for a signature. */
function program(signature: Bytes = new Uint8Array(0)): Bytes {
  const bytes = new Uint8Array(0x600)
  const view = new DataView(bytes.buffer)
  bytes.set(utf8('MZ'))
  view.setUint32(0x3c, 0x80, true)
  view.setUint32(0x80, 0x4550, true)
  view.setUint16(0x86, 1, true)
  view.setUint16(0x94, 240, true)
  const optional = 0x98
  view.setUint16(optional, 0x20b, true)
  view.setUint32(optional + 60, 0x200, true)
  view.setUint32(optional + 64, 0x1234, true)
  view.setUint32(optional + 108, 16, true)
  view.setUint32(optional + 240 + 16, 0x400, true)
  view.setUint32(optional + 240 + 20, 0x200, true)
  bytes.fill(7, 0x200)
  if (signature.length > 0) {
    view.setUint32(optional + 144, bytes.length, true)
    view.setUint32(optional + 148, signature.length, true)
  }
  return concatBytes(bytes, signature)
}

test("a program's digest leaves out its signature and checksum, and nothing else", async () => {
  const plain = formatHex(await authenticodeSha384(program()))
  const signed = program(new Uint8Array(64).fill(9))
  expect(formatHex(await authenticodeSha384(signed))).toBe(plain)
  const skipped = [...Array(4).keys()].map((i) => 0x98 + 64 + i)
  const entry = [...Array(8).keys()].map((i) => 0x98 + 144 + i)
  for (let at = 0; at < 0x600; at += 3) {
    if (entry.includes(at)) continue
    const changed = program()
    changed[at] = (changed[at] ?? 0) ^ 1
    const seen = await authenticodeSha384(changed).then(formatHex, (error) => error.code)
    if (skipped.includes(at)) expect(seen).toBe(plain)
    else expect(seen).not.toBe(plain)
  }
  for (const length of [0, 2, 0x90, 0x180, 0x500]) {
    const error = await authenticodeSha384(program().slice(0, length)).catch((cause) => cause)
    expect(error).toMatchObject({ code: 'kernel_malformed' })
  }
})
