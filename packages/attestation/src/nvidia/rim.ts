/** Reads a RIM: the measurements that NVIDIA published for one driver or VBIOS (a SWID tag). */
import { AttestationError } from '../verdict.ts'
import { childElements, readAttribute } from './xml-fields.ts'
import type { XmlElement } from './xml-reader.ts'

export type Rim = {
  /** The chip it is for, such as GH100. */
  readonly product: string
  readonly edition: string
  /** Of the driver or the VBIOS; only the version tells which of the two the document is for. */
  readonly version: string
  /** Accepted values (hex) of the active entries, by index; index i is SPDM measurement i + 1. */
  readonly golden: ReadonlyMap<number, readonly string[]>
}

const swid = 'http://standards.iso.org/iso/19770/-2/2015/schema.xsd'
const hashNamespace = 'http://www.w3.org/2001/04/xmlenc#sha384'
const maxAlternatives = 64

/** Reads only the signed part of a document. */
export function readRim(root: XmlElement): Rim {
  expectName(root, 'SoftwareIdentity')
  const children = childElements(root)
  const meta = findOne(children, 'Meta')
  const golden = new Map<number, readonly string[]>()
  const seen = new Set<number>()
  for (const resource of childElements(findOne(children, 'Payload'))) {
    expectName(resource, 'Resource')
    const entry = readMeasurement(resource)
    if (seen.has(entry.index)) malformed(`index ${entry.index} occurs twice`)
    seen.add(entry.index)
    if (entry.active) golden.set(entry.index, entry.values)
  }
  if (golden.size === 0) malformed('no active measurement')
  return {
    product: readAttribute(meta, 'product'),
    edition: readAttribute(meta, 'edition'),
    version: readAttribute(meta, 'colloquialVersion'),
    golden,
  }
}

type Entry = {
  readonly index: number
  readonly active: boolean
  readonly values: readonly string[]
}

function readMeasurement(resource: XmlElement): Entry {
  const type = readAttribute(resource, 'type')
  if (type !== 'Measurement') malformed(`resource of type ${type}`)
  if (resource.children.length > 0) malformed('resource has content')
  const index = readNumber(resource, 'index', 253)
  const size = readNumber(resource, 'size', 64)
  const alternatives = readNumber(resource, 'alternatives', maxAlternatives)
  const values: string[] = []
  for (let n = 0; n < alternatives; n++) {
    values.push(readHash(resource, `Hash${n}`, size))
  }
  const listed = resource.attributes.filter(({ namespace }) => namespace === hashNamespace)
  if (alternatives === 0 || listed.length !== alternatives) {
    malformed(`index ${index} has ${listed.length} values, expected ${alternatives}`)
  }
  return { index, active: readActive(resource), values }
}

function readHash(resource: XmlElement, name: string, size: number): string {
  const hash = readAttribute(resource, name, hashNamespace).toLowerCase()
  if (hash.length !== 2 * size || !/^[0-9a-f]+$/.test(hash)) malformed(`${name} is not hex`)
  return hash
}

function readActive(resource: XmlElement): boolean {
  const active = readAttribute(resource, 'active')
  if (active !== 'True' && active !== 'False') malformed(`active is "${active}"`)
  return active === 'True'
}

function readNumber(resource: XmlElement, name: string, max: number): number {
  const text = readAttribute(resource, name)
  if (!/^(0|[1-9][0-9]{0,3})$/.test(text) || Number(text) > max) malformed(`${name} is "${text}"`)
  return Number(text)
}

function findOne(children: readonly XmlElement[], localName: string): XmlElement {
  const found = children.filter((child) => child.localName === localName)
  const [element] = found
  if (!element || found.length > 1) malformed(`${found.length} elements ${localName}`)
  expectName(element, localName)
  return element
}

function expectName(element: XmlElement, localName: string): void {
  if (element.localName !== localName || element.namespace !== swid) {
    malformed(`element ${element.localName}, expected ${localName}`)
  }
}

function malformed(detail: string): never {
  throw new AttestationError('collateral_malformed', `rim: ${detail}`)
}
