/** Splits an element into exactly the children, attributes and text that its reader expects. */
import { AttestationError } from '../verdict.ts'
import type { XmlElement } from './xml-reader.ts'

/** The child elements; only white space may appear between them. */
export function childElements(parent: XmlElement): XmlElement[] {
  return parent.children.filter((child): child is XmlElement => {
    if (typeof child === 'string' && /[^ \t\r\n]/.test(child)) {
      malformed(`text inside ${parent.localName}`)
    }
    return typeof child !== 'string'
  })
}

/** Exactly the attributes `names`, all without a namespace. */
export function readAttributes<const Name extends string>(
  element: XmlElement,
  names: readonly Name[],
): Readonly<Record<Name, string>> {
  const values: Record<string, string> = {}
  for (const { namespace, localName, value } of element.attributes) {
    if (namespace !== '' || !(names as readonly string[]).includes(localName)) {
      malformed(`${element.localName} has an attribute ${localName}`)
    }
    values[localName] = value
  }
  for (const name of names) {
    if (values[name] === undefined) malformed(`${element.localName} has no attribute ${name}`)
  }
  return values as Record<Name, string>
}

/** The value of one attribute, whatever others there are. */
export function readAttribute(element: XmlElement, localName: string, namespace = ''): string {
  const found = element.attributes.find(
    (attribute) => attribute.localName === localName && attribute.namespace === namespace,
  )
  return found?.value ?? malformed(`${element.localName} has no attribute ${localName}`)
}

/** The text of an element that has no child elements. */
export function readText(element: XmlElement): string {
  let text = ''
  for (const child of element.children) {
    if (typeof child !== 'string') malformed(`element inside ${element.localName}`)
    text += child
  }
  return text
}

function malformed(detail: string): never {
  throw new AttestationError('collateral_malformed', `xml: ${detail}`)
}
