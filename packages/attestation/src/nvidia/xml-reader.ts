/** Reads a subset of XML 1.0 with namespaces (elements, attributes, text) and refuses the rest. */
import { AttestationError } from '../verdict.ts'

export type XmlAttribute = {
  readonly prefix: string
  readonly localName: string
  /** Empty if the attribute has no prefix. */
  readonly namespace: string
  readonly value: string
}

export type XmlElement = {
  readonly prefix: string
  readonly localName: string
  readonly namespace: string
  readonly attributes: readonly XmlAttribute[]
  /** The namespaces declared on this element, by prefix; the default one has the empty prefix. */
  readonly declarations: ReadonlyMap<string, string>
  readonly children: readonly XmlNode[]
}

export type XmlNode = XmlElement | string

// A reference document has 26 kB, depth 5, at most 10 attributes and some hundred elements.
const maxBytes = 256 * 1024
const maxDepth = 16
const maxAttributes = 64
const maxElements = 4096

/**
 * Parses one document. Comments, processing instructions, CDATA sections and document types are
 * refused: each has been used to make two readers see two different documents.
 */
export function parseXml(bytes: Uint8Array): XmlElement {
  if (bytes.length > maxBytes) malformed(`${bytes.length} bytes, at most ${maxBytes}`)
  return new Parser(decode(bytes)).document()
}

function decode(bytes: Uint8Array): string {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    malformed('not UTF-8', cause)
  }
  // XML 1.0, 2.2: the characters a document may contain. We exclude the byte order mark.
  if (/[^\t\n\r\x20-\uD7FF\uE000-\uFEFE\uFF00-\uFFFD\u{10000}-\u{10FFFF}]/u.test(text)) {
    malformed('a character that XML does not allow')
  }
  return text.replace(/\r\n?/g, '\n') // XML 1.0, 2.11
}

const declaration = /<\?xml version=(["'])1\.0\1(?: encoding=(["'])[Uu][Tt][Ff]-8\2)?\s*\?>/y
const space = /[ \t\n]*/y
const startTag = /<([A-Za-z_][\w.-]*)(?::([A-Za-z_][\w.-]*))?/y
const attribute =
  /[ \t\n]+([A-Za-z_][\w.-]*)(?::([A-Za-z_][\w.-]*))?[ \t\n]*=[ \t\n]*(?:"([^"<]*)"|'([^'<]*)')/y
const tagEnd = /[ \t\n]*(\/?)>/y
const endTag = /<\/([A-Za-z_][\w.-]*)(?::([A-Za-z_][\w.-]*))?[ \t\n]*>/y
const characters = /[^<]+/y

class Parser {
  readonly #text: string
  #offset = 0
  #elements = 0

  constructor(text: string) {
    this.#text = text
  }

  document(): XmlElement {
    this.#match(declaration)
    this.#match(space)
    const root = this.#element(new Map(), 0)
    this.#match(space)
    if (this.#offset !== this.#text.length) malformed('content after the root element')
    return root
  }

  #element(inherited: ReadonlyMap<string, string>, depth: number): XmlElement {
    if (depth > maxDepth) malformed(`nesting deeper than ${maxDepth}`)
    if (++this.#elements > maxElements) malformed(`more than ${maxElements} elements`)
    const name = this.#match(startTag) ?? malformed('not an element')
    const { declarations, plain } = this.#attributes()
    const scope = declarations.size === 0 ? inherited : new Map([...inherited, ...declarations])
    const [prefix, localName] = splitName(name[1], name[2])
    const attributes = plain.map((item) => ({
      ...item,
      // A default namespace does not apply to attributes (Namespaces in XML, 6.2).
      namespace: item.prefix === '' ? '' : resolve(item.prefix, scope),
    }))
    refuseDuplicates(attributes)
    const end = this.#match(tagEnd) ?? malformed(`start tag of ${localName} does not end`)
    return {
      prefix,
      localName,
      namespace: prefix === '' ? (scope.get('') ?? '') : resolve(prefix, scope),
      attributes,
      declarations,
      children: end[1] === '/' ? [] : this.#content(name[0].slice(1), scope, depth),
    }
  }

  #attributes(): { declarations: Map<string, string>; plain: Omit<XmlAttribute, 'namespace'>[] } {
    const declarations = new Map<string, string>()
    const plain: Omit<XmlAttribute, 'namespace'>[] = []
    for (let match = this.#match(attribute); match; match = this.#match(attribute)) {
      const [prefix, localName] = splitName(match[1], match[2])
      // XML 1.0, 3.3.3: white space in an attribute is a space unless written as a reference.
      const value = resolveReferences((match[3] ?? match[4] ?? '').replace(/[\t\n]/g, ' '))
      if (prefix === 'xmlns' || (prefix === '' && localName === 'xmlns')) {
        declare(declarations, prefix === '' ? '' : localName, value)
      } else {
        plain.push({ prefix, localName, value })
      }
      if (declarations.size + plain.length > maxAttributes) {
        malformed(`more than ${maxAttributes} attributes`)
      }
    }
    return { declarations, plain }
  }

  #content(qualifiedName: string, scope: ReadonlyMap<string, string>, depth: number): XmlNode[] {
    const children: XmlNode[] = []
    for (;;) {
      const text = this.#match(characters)
      if (text) {
        if (text[0].includes(']]>')) malformed('"]]>" in text')
        children.push(resolveReferences(text[0]))
      }
      const end = this.#match(endTag)
      if (end) {
        const [prefix, localName] = [end[1], end[2]]
        const closed = localName === undefined ? prefix : `${prefix}:${localName}`
        if (closed !== qualifiedName) malformed(`${qualifiedName} is closed by ${closed}`)
        return children
      }
      children.push(this.#element(scope, depth + 1))
    }
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#offset
    const match = pattern.exec(this.#text)
    if (!match) return undefined
    this.#offset = pattern.lastIndex
    return match
  }
}

function splitName(first: string | undefined, second: string | undefined): [string, string] {
  return second === undefined ? ['', first ?? ''] : [first ?? '', second]
}

function declare(declarations: Map<string, string>, prefix: string, uri: string): void {
  if (declarations.has(prefix)) malformed(`namespace prefix "${prefix}" declared twice`)
  if (/^xml/i.test(prefix)) malformed(`namespace prefix "${prefix}" is reserved`)
  // Canonical XML 1.1, 1.3, refuses relative namespace names; only a default may be undeclared.
  const absolute = /^[A-Za-z][A-Za-z0-9+.-]*:[\x21-\x7e]*$/.test(uri)
  if (!absolute && !(uri === '' && prefix === '')) malformed(`namespace name "${uri}"`)
  declarations.set(prefix, uri)
}

function resolve(prefix: string, scope: ReadonlyMap<string, string>): string {
  // The prefix "xml" is never declared here, so xml:base, xml:lang and the like are refused:
  // canonicalisation has special rules for them.
  return scope.get(prefix) ?? malformed(`namespace prefix "${prefix}" is not declared`)
}

function refuseDuplicates(attributes: readonly XmlAttribute[]): void {
  const seen = new Set<string>()
  for (const { namespace, localName } of attributes) {
    const name = `${namespace} ${localName}`
    if (seen.has(name)) malformed(`attribute ${localName} occurs twice`)
    seen.add(name)
  }
}

const entities: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
}

function resolveReferences(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(
    /&(?:#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6})|([a-z]{1,4}))?(;?)/g,
    resolveReference,
  )
}

function resolveReference(
  reference: string,
  decimal: string | undefined,
  hex: string | undefined,
  name: string | undefined,
  end: string,
): string {
  if (end === '') malformed(`reference ${reference}`)
  if (name !== undefined) {
    return Object.hasOwn(entities, name) ? (entities[name] ?? '') : malformed(`entity ${name}`)
  }
  const point = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
  const character = point <= 0x10ffff ? String.fromCodePoint(point) : ''
  const allowed = /^[\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]$/u.test(character)
  return allowed ? character : malformed(`reference ${reference}`)
}

function malformed(detail: string, cause?: unknown): never {
  throw new AttestationError('collateral_malformed', `xml: ${detail}`, { cause })
}
