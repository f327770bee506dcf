import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { utf8 } from '../bytes.ts'
import { canonicalize } from './c14n.ts'
import { parseXml, type XmlElement } from './xml-reader.ts'

const read = (text: string): XmlElement => parseXml(utf8(text))
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const canonical = (source: string): string => text(canonicalize(read(source)))

// The rules of Canonical XML 1.1, section 1.1, one by one.
test.each([
  [
    'the declaration and space around the root are removed',
    '<?xml version="1.0"?>\n<a/>\n',
    '<a></a>',
  ],
  ['empty elements get an end tag', '<a><b/></a>', '<a><b></b></a>'],
  ['space inside tags becomes one', '<a  x = "1"\n><b\n/></a  >', '<a x="1"><b></b></a>'],
  ['space in content stays', '<a>\n  <b/> </a>', '<a>\n  <b></b> </a>'],
  ['line ends become line feeds', '<a>\r\n\r</a>', '<a>\n\n</a>'],
  ['single quotes become double ones', `<a x='"'/>`, '<a x="&quot;"></a>'],
  ['references are resolved', '<a x="&#65;">&#x42;</a>', '<a x="A">B</a>'],
  ['text is escaped', '<a>&lt;&gt;&amp;"&#13;</a>', '<a>&lt;&gt;&amp;"&#xD;</a>'],
  [
    'attributes are escaped',
    `<a x="&lt;>&amp;'&#9;&#10;&#13;"/>`,
    `<a x="&lt;>&amp;'&#x9;&#xA;&#xD;"></a>`,
  ],
  [
    'namespaces come first, in order',
    '<a b="" xmlns:z="urn:z" xmlns:y="urn:y" xmlns="urn:d"/>',
    '<a xmlns="urn:d" xmlns:y="urn:y" xmlns:z="urn:z" b=""></a>',
  ],
  [
    'attributes are ordered by namespace name, then by name',
    '<a xmlns:p="urn:z" xmlns:q="urn:y" p:a="1" q:b="2" q:a="3" z="4" y="5"/>',
    '<a xmlns:p="urn:z" xmlns:q="urn:y" y="5" z="4" q:a="3" q:b="2" p:a="1"></a>',
  ],
  [
    'a namespace that is already in force is not repeated',
    '<a xmlns="urn:d" xmlns:p="urn:p"><b xmlns="urn:d" xmlns:p="urn:p"/></a>',
    '<a xmlns="urn:d" xmlns:p="urn:p"><b></b></a>',
  ],
  [
    'a namespace that changes and changes back is written both times',
    '<a xmlns:p="urn:1"><b xmlns:p="urn:2"><c xmlns:p="urn:1"/></b></a>',
    '<a xmlns:p="urn:1"><b xmlns:p="urn:2"><c xmlns:p="urn:1"></c></b></a>',
  ],
  [
    'a default namespace is undeclared only if there is one',
    '<a xmlns=""><b xmlns="urn:d"><c xmlns=""><d xmlns=""/></c></b></a>',
    '<a><b xmlns="urn:d"><c xmlns=""><d></d></c></b></a>',
  ],
  ['an unused namespace stays', '<a xmlns:p="urn:p"/>', '<a xmlns:p="urn:p"></a>'],
])('%s', (_, source, expected) => {
  expect(canonical(source)).toBe(expected)
})

test('the apex of a subset shows every namespace that is in scope', () => {
  const root = read('<a xmlns="urn:d" xmlns:p="urn:p"><b xmlns:q="urn:q"><q:c/></b></a>')
  const b = root.children[0] as XmlElement
  const c = b.children[0] as XmlElement
  const inherited = new Map([...root.declarations, ...b.declarations])
  expect(text(canonicalize(c, { inherited }))).toBe(
    '<q:c xmlns="urn:d" xmlns:p="urn:p" xmlns:q="urn:q"></q:c>',
  )
})

test('omitting an element keeps the text around it', () => {
  const root = read('<a>1<b>2</b>3<b>2</b></a>')
  const without = root.children[1] as XmlElement
  expect(text(canonicalize(root, { without }))).toBe('<a>13<b>2</b></a>')
})

const name = fc.constantFrom('a', 'b', 'c')
const value = fc.string({ unit: fc.constantFrom('x', '<', '>', '&', '"', "'", '\t', '\n', 'é') })
const reference = (raw: string): string =>
  raw.replace(/[<>&"'\t\n]/g, (character) => `&#${character.codePointAt(0)};`)
const { node } = fc.letrec<{ node: string }>((tie) => ({
  node: fc
    .tuple(
      name,
      fc.dictionary(name, value, { maxKeys: 3 }),
      fc.constantFrom('', ' xmlns="urn:1"', ' xmlns="urn:2"', ' xmlns=""', ' xmlns:p="urn:1"'),
      fc.array(fc.oneof({ maxDepth: 4 }, value.map(reference), tie('node')), { maxLength: 3 }),
    )
    .map(([tag, attributes, declaration, children]) => {
      const list = Object.entries(attributes).map(([key, raw]) => ` ${key}="${reference(raw)}"`)
      return `<${tag}${declaration}${list.join('')}>${children.join('')}</${tag}>`
    }),
}))

test('canonical form is stable, and reads back as the same document', () => {
  fc.assert(
    fc.property(node, (source) => {
      const once = canonicalize(read(source))
      expect(text(canonicalize(parseXml(once)))).toBe(text(once))
    }),
    { numRuns: 500 },
  )
})
