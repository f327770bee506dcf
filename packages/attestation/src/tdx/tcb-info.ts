/** Parses Intel's TCB info for TDX and its QE identity (PCS API, version 4), strictly. */
import { type Bytes, parseHex } from '../bytes.ts'
import { type FieldCodes, Fields } from '../fields.ts'
import { parseJson } from '../strict-json.ts'
import { type TcbStatus, tcbStatuses } from './tcb-status.ts'

/** Both documents state when they were issued and until when they are valid. */
export type Dated = { readonly issueDate: Date; readonly nextUpdate: Date }

export type LevelVerdict = {
  readonly status: TcbStatus
  readonly tcbDate: Date
  readonly advisoryIds: readonly string[]
}

export type PlatformLevel = LevelVerdict & {
  /** 16 each: a platform's component must be at least as high. */
  readonly sgxComponents: readonly number[]
  readonly tdxComponents: readonly number[]
  readonly pceSvn: number
}

export type IsvLevel = LevelVerdict & { readonly isvSvn: number }

export type MaskedValue = { readonly value: Bytes; readonly mask: Bytes }

export type ModuleSigner = { readonly mrSigner: Bytes; readonly attributes: MaskedValue }

export type ModuleIdentity = ModuleSigner & {
  /** `TDX_01`: the number is the module's major version, in hex. */
  readonly id: string
  readonly levels: readonly IsvLevel[]
}

export type TcbInfo = Dated & {
  readonly fmspc: Bytes
  readonly pceId: Bytes
  readonly evaluationDataNumber: number
  readonly module: ModuleSigner
  readonly moduleIdentities: readonly ModuleIdentity[]
  readonly levels: readonly PlatformLevel[]
}

export type QeIdentity = Dated & {
  readonly evaluationDataNumber: number
  readonly miscSelect: MaskedValue
  readonly attributes: MaskedValue
  readonly mrSigner: Bytes
  readonly isvProdId: number
  readonly levels: readonly IsvLevel[]
}

// An unknown member may be a rule that we would fail to apply, as the module identities once were.
const codes: FieldCodes = {
  malformed: 'collateral_malformed',
  unknown: 'collateral_malformed',
  remedy: 'a newer verifier may know it',
}
const maxDocumentBytes = 256 * 1024
const byteRange = { min: 0, max: 0xff }
const uint16Range = { min: 0, max: 0xffff }
const levelsRange = { min: 1, max: 64 }

export function parseTcbInfo(bytes: Uint8Array): TcbInfo {
  return parseDocument(bytes, 'tcbInfo', (fields) => {
    fields.choice('id', ['TDX'])
    fields.integer('version', { min: 3, max: 3 })
    // Only type 0 is defined: all components are compared one by one.
    fields.integer('tcbType', { min: 0, max: 0 })
    return {
      ...readDates(fields),
      fmspc: readHex(fields, 'fmspc', 6),
      pceId: readHex(fields, 'pceId', 2),
      evaluationDataNumber: fields.integer('tcbEvaluationDataNumber'),
      module: fields.object('tdxModule', readModuleSigner),
      moduleIdentities:
        fields.optional('tdxModuleIdentities', (name) =>
          fields.objects(name, { min: 0, max: 64 }, readModuleIdentity),
        ) ?? [],
      levels: fields.objects('tcbLevels', levelsRange, readPlatformLevel),
    }
  })
}

export function parseQeIdentity(bytes: Uint8Array): QeIdentity {
  return parseDocument(bytes, 'enclaveIdentity', (fields) => {
    fields.choice('id', ['TD_QE'])
    fields.integer('version', { min: 2, max: 2 })
    return {
      ...readDates(fields),
      evaluationDataNumber: fields.integer('tcbEvaluationDataNumber'),
      miscSelect: readMasked(fields, 'miscselect', 4),
      attributes: readMasked(fields, 'attributes', 16),
      mrSigner: readHex(fields, 'mrsigner', 32),
      isvProdId: fields.integer('isvprodid', uint16Range),
      levels: fields.objects('tcbLevels', levelsRange, readIsvLevel),
    }
  })
}

function parseDocument<T>(bytes: Uint8Array, what: string, read: (fields: Fields) => T): T {
  const limits = { what, code: codes.malformed, maxBytes: maxDocumentBytes }
  const fields = new Fields(parseJson(bytes, limits), what, codes)
  const document = read(fields)
  fields.end()
  return document
}

function readDates(fields: Fields): Dated {
  return { issueDate: fields.instant('issueDate'), nextUpdate: fields.instant('nextUpdate') }
}

function readModuleSigner(fields: Fields): ModuleSigner {
  return {
    mrSigner: readHex(fields, 'mrsigner', 48),
    attributes: readMasked(fields, 'attributes', 8),
  }
}

function readModuleIdentity(fields: Fields): ModuleIdentity {
  return {
    id: fields.matching('id', /^TDX_[0-9A-F]{2}$/, 'TDX_ and two hex digits'),
    ...readModuleSigner(fields),
    levels: fields.objects('tcbLevels', levelsRange, readIsvLevel),
  }
}

function readPlatformLevel(fields: Fields): PlatformLevel {
  return {
    ...fields.object('tcb', (tcb) => ({
      sgxComponents: tcb.objects('sgxtcbcomponents', { min: 16, max: 16 }, readComponent),
      tdxComponents: tcb.objects('tdxtcbcomponents', { min: 16, max: 16 }, readComponent),
      pceSvn: tcb.integer('pcesvn', uint16Range),
    })),
    ...readVerdict(fields),
  }
}

function readIsvLevel(fields: Fields): IsvLevel {
  const isvSvn = fields.object('tcb', (tcb) => tcb.integer('isvsvn', uint16Range))
  return { isvSvn, ...readVerdict(fields) }
}

function readComponent(fields: Fields): number {
  const svn = fields.integer('svn', byteRange)
  for (const note of ['category', 'type']) fields.optional(note, (name) => fields.text(name))
  return svn
}

function readVerdict(fields: Fields): LevelVerdict {
  return {
    status: fields.choice('tcbStatus', tcbStatuses),
    tcbDate: fields.instant('tcbDate'),
    advisoryIds:
      fields.optional('advisoryIDs', (name) =>
        fields.array(name, { min: 0, max: 1024 }, (item, path) =>
          typeof item === 'string' ? item : fields.refuse(path, 'not a string'),
        ),
      ) ?? [],
  }
}

function readMasked(fields: Fields, name: string, length: number): MaskedValue {
  return { value: readHex(fields, name, length), mask: readHex(fields, `${name}Mask`, length) }
}

/** Intel writes hex in either case, sometimes mixed in one document. */
function readHex(fields: Fields, name: string, length: number): Bytes {
  const bytes = parseHex(fields.text(name).toLowerCase())
  if (bytes?.length !== length) return fields.refuse(name, `expected ${length} bytes in hex`)
  return bytes
}
