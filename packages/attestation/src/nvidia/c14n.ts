/** Canonical XML 1.1 (inclusive, without comments) for documents that our reader accepts. */
import { type Bytes, utf8 } from '../bytes.ts'
import type { XmlAttribute, XmlElement } from './xml-reader.ts'

export type Subset = {
  /** Namespaces in scope at the apex, from elements outside the subset. */
  readonly inherited?: ReadonlyMap<string, string>
  /** Omitted, with everything in it. */
  readonly without?: XmlElement
}

/**
 * The canonical bytes of `apex` and its content. The reader refuses comments, processing
 * instructions and attributes of the xml namespace, so no rules for them are needed here.
 */
export function canonicalize(apex: XmlElement, subset: Subset = {}): Bytes {
  const parts: string[] = []
  write(apex, new Map([...(subset.inherited ?? []), ...apex.declarations]), new Map(), {
    parts,
    without: subset.without,
  })
  return utf8(parts.join(''))
}

type Output = { readonly parts: string[]; readonly without: XmlElement | undefined }

/** `declared` are the namespaces to render if they differ from those already `rendered` by an ancestor. */
function write(
  element: XmlElement,
  declared: ReadonlyMap<string, string>,
  rendered: ReadonlyMap<string, string>,
  output: Output,
): void {
  const name = qualify(element)
  output.parts.push('<', name)
  const fresh = [...declared].filter(([prefix, uri]) => (rendered.get(prefix) ?? '') !== uri)
  for (const [prefix, uri] of fresh.sort(([a], [b]) => compare(a, b))) {
    output.parts.push(prefix === '' ? ' xmlns="' : ` xmlns:${prefix}="`, escapeValue(uri), '"')
  }
  for (const attribute of element.attributes.toSorted(compareAttributes)) {
    output.parts.push(' ', qualify(attribute), '="', escapeValue(attribute.value), '"')
  }
  output.parts.push('>')
  const scope = fresh.length === 0 ? rendered : new Map([...rendered, ...fresh])
  for (const child of element.children) {
    if (typeof child === 'string') output.parts.push(escapeText(child))
    else if (child !== output.without) write(child, child.declarations, scope, output)
  }
  output.parts.push('</', name, '>')
}

const qualify = ({ prefix, localName }: { prefix: string; localName: string }): string =>
  prefix === '' ? localName : `${prefix}:${localName}`

/** Canonical XML 1.1, 2.3: by namespace name, then by local name; no namespace comes first. */
function compareAttributes(a: XmlAttribute, b: XmlAttribute): number {
  return compare(a.namespace, b.namespace) || compare(a.localName, b.localName)
}

// Names and namespace names are ASCII, where code units sort like characters.
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function escapeText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\r', '&#xD;')
}

function escapeValue(value: string): string {
  return value
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\t', '&#x9;')
    .replaceAll('\n', '&#xA;')
    .replaceAll('\r', '&#xD;')
}
