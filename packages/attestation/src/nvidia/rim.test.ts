import { expect, test } from 'bun:test'
import { utf8 } from '../bytes.ts'
import { driverRim, vbiosRim } from '../testing/nvidia-world.ts'
import { writeRim } from '../testing/rim-writer.ts'
import { type Rim, readRim } from './rim.ts'
import { parseXml } from './xml-reader.ts'

const read = (text: string): Rim => readRim(parseXml(utf8(text)))
const text = writeRim(vbiosRim)

test('active entries are read with all their alternatives', () => {
  const rim = read(text)
  expect(rim).toMatchObject({ product: 'GH100', edition: 'GPU', version: '96.00.9F.00.01' })
  expect([...rim.golden.keys()]).toEqual([0, 1, 12])
  expect(rim.golden.get(12)).toHaveLength(3)
})

test('hex may be in upper case', () => {
  const values = ['AB'.repeat(48)]
  const rim = read(writeRim({ ...driverRim, entries: [{ index: 3, values }] }))
  expect(rim.golden.get(3)).toEqual(['ab'.repeat(48)])
})

test.each([
  ['another root', text.replaceAll('SoftwareIdentity', 'Other')],
  [
    'another namespace',
    text.replaceAll('http://standards.iso.org/iso/19770/-2/2015/schema.xsd', 'urn:x'),
  ],
  ['no payload', text.replaceAll('ns0:Payload', 'ns0:Other')],
  ['two payloads', text.replace('</ns0:Payload>', '</ns0:Payload><ns0:Payload></ns0:Payload>')],
  ['two metas', text.replace('<ns0:Payload>', '<ns0:Meta></ns0:Meta><ns0:Payload>')],
  ['no version', text.replace('colloquialVersion=', 'other=')],
  ['no product', text.replace(' product=', ' other=')],
  ['an element that is not a resource', text.replaceAll('ns0:Resource', 'ns0:Directory')],
  ['another type', text.replace('type="Measurement"', 'type="Other"')],
  ['content in a resource', text.replace('></ns0:Resource>', '>x</ns0:Resource>')],
  ['text in the payload', text.replace('<ns0:Payload>', '<ns0:Payload>x')],
  ['an index twice', text.replace('index="1"', 'index="0"')],
  ['an index beyond SPDM', text.replace('index="0"', 'index="254"')],
  ['an index with a leading zero', text.replace('index="0"', 'index="00"')],
  ['a negative index', text.replace('index="0"', 'index="-1"')],
  ['an invalid state', text.replace('active="True"', 'active="true"')],
  ['no state', text.replace(' active="True"', '')],
  ['fewer alternatives than it says', text.replace('alternatives="3"', 'alternatives="4"')],
  ['more alternatives than it says', text.replace('alternatives="3"', 'alternatives="2"')],
  ['no alternative', text.replace('alternatives="1"', 'alternatives="0"')],
  ['a size that is not the value’s', text.replace('size="48"', 'size="32"')],
  ['a value that is not hex', text.replace('Hash0="01', 'Hash0="0g')],
  ['a value of another hash', text.replace('xmlenc#sha384', 'xmlenc#sha256')],
  ['no active entry', text.replaceAll('active="True"', 'active="False"')],
])('a document with %s is refused', (_, changed) => {
  expect(changed).not.toBe(text)
  expect(() => read(changed)).toThrow(expect.objectContaining({ code: 'collateral_malformed' }))
})
