import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { utf8 } from '../bytes.ts'
import { AttestationError } from '../verdict.ts'
import { parseXml, type XmlElement } from './xml-reader.ts'

const read = (text: string): XmlElement => parseXml(utf8(text))
const malformed = expect.objectContaining({ code: 'collateral_malformed' })

test('elements, attributes and text are read with their namespaces', () => {
  const root = read(
    `<?xml version="1.0" encoding="utf-8"?>
     <a xmlns="urn:d" xmlns:p="urn:p" x='1' p:x="2"><p:b>text</p:b><c/></a>\n`,
  )
  expect(root).toMatchObject({ prefix: '', localName: 'a', namespace: 'urn:d' })
  expect(root.attributes).toEqual([
    { prefix: '', localName: 'x', namespace: '', value: '1' },
    { prefix: 'p', localName: 'x', namespace: 'urn:p', value: '2' },
  ])
  expect(root.children).toMatchObject([
    { prefix: 'p', localName: 'b', namespace: 'urn:p', children: ['text'] },
    { prefix: '', localName: 'c', namespace: 'urn:d', children: [] },
  ])
})

test('an inner declaration applies inside its element only', () => {
  const root = read('<a xmlns:p="urn:1"><p:b xmlns:p="urn:2"/><p:b/></a>')
  expect(root.children).toMatchObject([{ namespace: 'urn:2' }, { namespace: 'urn:1' }])
})

test('a default namespace can be undeclared', () => {
  expect(read('<a xmlns="urn:d"><b xmlns=""/></a>').children).toMatchObject([{ namespace: '' }])
})

test('the five entities and numeric references are resolved', () => {
  const root = read('<a v="&quot;&#65;&#x1F600;">&lt;&gt;&amp;&apos;</a>')
  expect(root.attributes[0]?.value).toBe('"A😀')
  expect(root.children).toEqual(["<>&'"])
})

test('line endings are normalised, and white space in attributes becomes spaces', () => {
  const root = read('<a v="1\r\n\t2&#10;3">x\r\ny\rz</a>')
  expect(root.attributes[0]?.value).toBe('1  2\n3')
  expect(root.children).toEqual(['x\ny\nz'])
})

test.each([
  ['an empty document', ''],
  ['text alone', 'text'],
  ['a document type', '<!DOCTYPE a><a/>'],
  ['an entity declaration', '<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>'],
  ['an entity of HTML', '<a>&nbsp;</a>'],
  ['an entity named like a property of objects', '<a>&constructor;</a>'],
  ['a bare ampersand', '<a>&</a>'],
  ['an empty reference', '<a>&;</a>'],
  ['an unfinished reference', '<a>&#65</a>'],
  ['a reference to no character', '<a>&#0;</a>'],
  ['a reference to a surrogate', '<a>&#xD800;</a>'],
  ['a reference beyond Unicode', '<a>&#x110000;</a>'],
  ['a comment', '<a><!-- c --></a>'],
  ['a comment before the root', '<!-- c --><a/>'],
  ['a comment after the root', '<a/><!-- c -->'],
  ['a processing instruction', '<a><?p i?></a>'],
  ['a style sheet', '<?xml-stylesheet href="x"?><a/>'],
  ['a CDATA section', '<a><![CDATA[x]]></a>'],
  ['the end of a CDATA section', '<a>]]></a>'],
  ['another XML version', '<?xml version="1.1"?><a/>'],
  ['another encoding', '<?xml version="1.0" encoding="utf-16"?><a/>'],
  ['a declaration after white space', ' <?xml version="1.0"?><a/>'],
  ['a byte order mark', '\ufeff<a/>'],
  ['a control character', '<a>\u0001</a>'],
  ['two roots', '<a/><b/>'],
  ['text after the root', '<a/>x'],
  ['an element that does not end', '<a>'],
  ['a wrong end tag', '<a></b>'],
  ['an end tag of another prefix', '<p:a xmlns:p="urn:p" xmlns:q="urn:p"></q:a>'],
  ['crossed elements', '<a><b></a></b>'],
  ['an attribute without a value', '<a b/>'],
  ['an attribute without quotes', '<a b=1/>'],
  ['attributes without space between', '<a b="1"c="2"/>'],
  ['a < in an attribute', '<a b="<"/>'],
  ['an attribute twice', '<a b="1" b="2"/>'],
  ['an attribute twice under two prefixes', '<a xmlns:p="urn:x" xmlns:q="urn:x" p:b="" q:b=""/>'],
  ['a prefix that is not declared', '<p:a/>'],
  ['an attribute prefix that is not declared', '<a p:b=""/>'],
  ['a prefix declared twice', '<a xmlns:p="urn:1" xmlns:p="urn:2"/>'],
  ['a default namespace declared twice', '<a xmlns="urn:1" xmlns="urn:2"/>'],
  ['a prefix undeclared', '<a xmlns:p=""/>'],
  ['the prefix xml', '<a xmlns:xml="http://www.w3.org/XML/1998/namespace"/>'],
  ['an attribute of the prefix xml', '<a xml:base="x"/>'],
  ['the prefix xmlns declared', '<a xmlns:xmlns="http://www.w3.org/2000/xmlns/"/>'],
  ['an element of the prefix xmlns', '<xmlns:a/>'],
  ['a relative namespace name', '<a xmlns="x"/>'],
  ['a name outside ASCII', '<é/>'],
  ['two colons in a name', '<p:a:b xmlns:p="urn:p"/>'],
])('%s is refused', (_, text) => {
  expect(() => read(text)).toThrow(malformed)
})

test('bytes that are not UTF-8 are refused', () => {
  expect(() => parseXml(Uint8Array.of(0x3c, 0x61, 0xff, 0x2f, 0x3e))).toThrow(malformed)
})

test.each([
  ['size', `<a>${' '.repeat(256 * 1024)}</a>`],
  ['depth', `${'<a>'.repeat(18)}${'</a>'.repeat(18)}`],
  ['number of attributes', `<a ${Array.from({ length: 65 }, (_, n) => `b${n}=""`).join(' ')}/>`],
  ['number of elements', `<a>${'<b/>'.repeat(4096)}</a>`],
])('a document beyond the limit of %s is refused', (_, text) => {
  expect(() => read(text)).toThrow(malformed)
})

test('any text parses or is refused with a typed error, in bounded time', () => {
  const piece = fc.constantFrom(
    ...['<a>', '</a>', '<b x="1"', '/>', '>', '&amp;', '&#x41;', '&', '<', '"', "'", '=', ' '],
    ...['<!--', '-->', '<?xml version="1.0"?>', '<![CDATA[', ']]>', ' xmlns="urn:x"', 'p:', 'é'],
    ...['\r\n', '\t', ' p:y=', '\u0000', '<p:a xmlns:p="urn:p">', '</p:a>', 'text'],
  )
  const input = fc.oneof(
    fc.array(piece, { maxLength: 60 }).map((pieces) => utf8(`<a>${pieces.join('')}</a>`)),
    fc.array(piece, { maxLength: 60 }).map((pieces) => utf8(pieces.join(''))),
    fc.uint8Array({ maxLength: 200 }),
  )
  fc.assert(
    fc.property(input, (bytes) => {
      const start = process.cpuUsage()
      try {
        parseXml(bytes)
      } catch (error) {
        expect(error).toBeInstanceOf(AttestationError)
      }
      expect(processorMs(start)).toBeLessThan(2000)
    }),
    { numRuns: 3000 },
  )
})

test.each([
  ['spaces in a tag', `<a${' '.repeat(200_000)}`],
  ['ampersands', `<a>${'&'.repeat(200_000)}`],
  ['opening brackets', '<'.repeat(200_000)],
  ['attributes', `<a${' b="'.repeat(50_000)}`],
  ['white space before an attribute', `<a b="1"${'\n'.repeat(200_000)}b`],
])('a long run of %s is refused without a hang', (_, text) => {
  const start = process.cpuUsage()
  expect(() => read(text)).toThrow(malformed)
  expect(processorMs(start)).toBeLessThan(2000)
})

/** Processor time, which other programs do not affect. */
function processorMs(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}
