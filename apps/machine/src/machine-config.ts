/** The two external documents: the measured configuration, and the host's network facts. */
import { isIPv4 } from 'node:net'
import type { Variant } from './command-line.ts'
import { MachineError } from './machine-error.ts'

/** A verity volume: every block the kernel reads from it is checked against `root`. */
export type Volume = { readonly label: string; readonly root: string; readonly blocks: number }

export type MachineModel = {
  readonly id: string
  readonly task: 'generate' | 'embed'
  /** Path of the GGUF file on its volume; a model server may use the whole volume instead. */
  readonly file?: string
  readonly volume: Volume
  readonly displayName?: string
  readonly contextLength?: number
}

/** A model server of its own, in place of the embedded engine. */
export type MachineServer = {
  /** Digest of the OCI image that the volume was built from, for those who want to rebuild it. */
  readonly image: string
  readonly volume: Volume
  readonly command: readonly string[]
  /** `NAME=value` */
  readonly environment: readonly string[]
  readonly directory: string
}

export type MachineConfig = {
  readonly gateway: { readonly url: string; readonly ca?: string }
  readonly port: number
  /** Vendor hosts that serve collateral, as URLs; apart from the gateway, nothing else can be reached. */
  readonly outbound: readonly string[]
  readonly models: readonly MachineModel[]
  readonly server?: MachineServer
  /** Software variant only: the identity that signs evidence. It is not a secret there. */
  readonly softwareIdentity?: object
}

/** Set by the host and not trusted: wrong values can only keep the machine from working. */
export type HostFacts = {
  readonly address: string
  readonly prefix: number
  readonly route: string
  readonly resolver?: string
  readonly mtu?: number
  readonly publicUrl: string
}

export const maxDocumentBytes = 256 * 1024

/** The bytes of a document on a disk of whole sectors: trailing zeros are not part of it. */
export function trimDocument(bytes: Uint8Array): Uint8Array {
  const end = bytes.findLastIndex((byte) => byte !== 0) + 1
  if (end === 0 || end > maxDocumentBytes) refuse(`a document of ${end} bytes`)
  return bytes.subarray(0, end)
}

export function formatMachineConfig(config: MachineConfig): string {
  const { softwareIdentity, ...rest } = config
  const document = { version: 1, ...rest, ...(softwareIdentity && { softwareIdentity }) }
  return `${JSON.stringify(document, null, 1)}\n`
}

export function parseMachineConfig(bytes: Uint8Array, variant: Variant): MachineConfig {
  const fields = new Members(parseJson(bytes, 'config'), 'config')
  if (fields.number('version', 1, 1) !== 1) refuse('config: version is not 1')
  const gateway = fields.object('gateway')
  const identity = fields.optional('softwareIdentity')
  if ((identity !== undefined) !== (variant === 'software')) {
    refuse(`config: an identity to attest in software, in variant ${variant}`)
  }
  const ca = gateway.optional('ca')
  const server = fields.optional('server')
  const config: MachineConfig = {
    gateway: {
      url: readUrl(gateway.text('url', 500), variant === 'software'),
      ...(ca !== undefined && { ca: gateway.text('ca', 65_536) }),
    },
    port: fields.number('port', 1, 65_535),
    outbound: fields.list('outbound', 16).map((item) => readUrl(String(item), false)),
    models: fields
      .list('models', 64)
      .map((item, at) => readModel(item, `config.models[${at}]`, server !== undefined)),
    ...(server !== undefined && { server: readServer(server) }),
    ...(identity !== undefined && { softwareIdentity: Object(identity) as object }),
  }
  gateway.end()
  fields.end()
  const labels = config.models.map(({ volume }) => volume.label)
  if (labels.length === 0) refuse('config: no models')
  if (new Set(labels).size !== labels.length) refuse('config: two models on one volume')
  return config
}

export function parseHostFacts(bytes: Uint8Array): HostFacts {
  const fields = new Members(parseJson(bytes, 'host'), 'host')
  const [address = '', prefix = ''] = fields.text('address', 18).split('/')
  const resolver = fields.optional('resolver')
  const mtu = fields.optional('mtu')
  const facts: HostFacts = {
    address: readAddress(address),
    prefix:
      /^\d{1,2}$/.test(prefix) && Number(prefix) <= 32 ? Number(prefix) : refuse('host: prefix'),
    route: readAddress(fields.text('route', 15)),
    ...(resolver !== undefined && { resolver: readAddress(fields.text('resolver', 15)) }),
    ...(mtu !== undefined && { mtu: fields.number('mtu', 576, 9000) }),
    publicUrl: readUrl(fields.text('publicUrl', 500), true),
  }
  fields.end()
  return facts
}

function readModel(value: unknown, path: string, hasServer: boolean): MachineModel {
  const fields = new Members(value, path)
  const volume = fields.object('volume')
  const task = fields.text('task', 8)
  if (task !== 'generate' && task !== 'embed') refuse(`${path}: task`)
  const isWhole = hasServer && fields.optional('file') === undefined
  const file = isWhole ? undefined : readFilePath(fields.text('file', 200), `${path}: file`)
  const displayName = fields.optional('displayName')
  const contextLength = fields.optional('contextLength')
  const model: MachineModel = {
    id: fields.text('id', 200),
    task,
    ...(file !== undefined && { file }),
    volume: readVolume(volume, /^weights-[a-z0-9]{1,11}$/, path),
    ...(displayName !== undefined && { displayName: fields.text('displayName', 200) }),
    ...(contextLength !== undefined && {
      contextLength: fields.number('contextLength', 1, 10 ** 8),
    }),
  }
  fields.end()
  return model
}

function readFilePath(file: string, path: string): string {
  const isPlain = /^[A-Za-z0-9][A-Za-z0-9._/-]*$/.test(file) && !file.includes('..')
  return isPlain ? file : refuse(path)
}

function readVolume(fields: Members, label: RegExp, path: string): Volume {
  const volume = {
    label: matching(fields.text('label', 20), label, `${path}: label`),
    root: matching(fields.text('root', 64), /^[0-9a-f]{64}$/, `${path}: root`),
    blocks: fields.number('blocks', 1, 2 ** 32 - 1),
  }
  fields.end()
  return volume
}

function readServer(value: unknown): MachineServer {
  const path = 'config.server'
  const fields = new Members(value, path)
  const texts = (name: string, max: number) =>
    fields.list(name, max).map((item) => {
      // A NUL would end the argument for the program that receives it.
      const isText = typeof item === 'string' && item.length <= 4096 && !item.includes('\0')
      return isText ? item : refuse(`${path}.${name}: not a list of texts`)
    })
  const server: MachineServer = {
    image: matching(fields.text('image', 71), /^sha256:[0-9a-f]{64}$/, `${path}: image`),
    volume: readVolume(fields.object('volume'), /^server$/, path),
    command: texts('command', 256),
    environment: texts('environment', 256),
    directory: matching(fields.text('directory', 200), /^\/[^\0]*$/, `${path}: directory`),
  }
  if (!server.command[0]?.startsWith('/')) refuse(`${path}.command starts with no absolute path`)
  if (server.environment.some((one) => !/^[A-Za-z_][A-Za-z0-9_]*=/.test(one)))
    refuse(`${path}.environment: not NAME=value`)
  fields.end()
  return server
}

/** The members of one object: each is read once, and none may be left over. */
class Members {
  readonly #members: Map<string, unknown>
  readonly #path: string

  constructor(value: unknown, path: string) {
    this.#path = path
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (!isObject) refuse(`${path} is not an object`)
    this.#members = new Map(Object.entries(value as object))
  }

  /** Only peeks; the caller reads what it finds. An object with its own format counts as read. */
  optional(name: string): unknown {
    const value = this.#members.get(name)
    if (typeof value === 'object') this.#members.delete(name)
    return value
  }

  text(name: string, max: number): string {
    const value = this.#take(name)
    const isText = typeof value === 'string' && value.length > 0 && value.length <= max
    return isText ? value : refuse(`${this.#path}.${name} is not a text of 1 to ${max} characters`)
  }

  number(name: string, min: number, max: number): number {
    const value = this.#take(name)
    const isNumber = Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max
    return isNumber ? Number(value) : refuse(`${this.#path}.${name} is not from ${min} to ${max}`)
  }

  list(name: string, max: number): unknown[] {
    const value = this.#take(name)
    return Array.isArray(value) && value.length <= max ? value : refuse(`${this.#path}.${name}`)
  }

  object(name: string): Members {
    return new Members(this.#take(name), `${this.#path}.${name}`)
  }

  end(): void {
    const [unknown] = this.#members.keys()
    if (unknown !== undefined) refuse(`${this.#path} has an unknown member ${unknown}`)
  }

  #take(name: string): unknown {
    const value = this.#members.get(name)
    this.#members.delete(name)
    return value
  }
}

function parseJson(bytes: Uint8Array, name: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new MachineError('config_invalid', `${name} is not JSON`, { cause })
  }
}

function readUrl(text: string, allowPlain: boolean): string {
  const url = URL.parse(text)
  const isFine = url?.protocol === 'https:' || (allowPlain && url?.protocol === 'http:')
  return isFine ? text : refuse(`${JSON.stringify(text)} is not an https address`)
}

const readAddress = (text: string): string => (isIPv4(text) ? text : refuse('host: not IPv4'))

const matching = (text: string, pattern: RegExp, path: string): string =>
  pattern.test(text) ? text : refuse(path)

function refuse(message: string): never {
  throw new MachineError('config_invalid', message)
}
