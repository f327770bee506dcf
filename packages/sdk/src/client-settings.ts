/** Where a client finds its settings: first the options, then the environment, then a `client.json`. */
import { type ConnectOptions, checkOptions } from './connect-options.ts'
import { PrivatemodeError } from './privatemode-error.ts'
import type { SoftwareAttestation } from './software.ts'

/** The options of `Privatemode.connect`, all optional: the environment supplies what is left out. */
export type ClientSettings = Partial<Omit<ConnectOptions, 'fetch' | 'software'>> & {
  /** The network below the sealed calls; defaults to the platform's `fetch`. */
  readonly network?: ConnectOptions['fetch']
  /**
   * For development: `acceptSoftware` of `@privatemode/sdk/software`, which is then called with the
   * root from the settings, or its result. Without it, software evidence is refused, whatever the
   * settings say.
   */
  readonly software?: SoftwareAttestation | ((root: string) => SoftwareAttestation)
}

type ClientFile = {
  readonly endpoint?: string
  readonly logKey?: string
  readonly softwareRoot?: string
  readonly apiKey?: string
}

/**
 * Resolves the options of `connect`; throws `invalid_options` naming what is missing and where it
 * was looked for.
 */
export function resolveSettings(settings: ClientSettings): ConnectOptions {
  const { software, network, ...options } = settings
  const file = lazily(readClientFile)
  const logKey = () => readVariable('PRIVATEMODE_LOG_KEY') ?? file().logKey
  const apiKey = settings.apiKey ?? readVariable('PRIVATEMODE_API_KEY') ?? file().apiKey
  const endpoint = settings.endpoint ?? readVariable('PRIVATEMODE_ENDPOINT') ?? file().endpoint
  const manifest = settings.manifest ?? { logKey: logKey() ?? missing('manifest', 'LOG_KEY') }
  const resolved: ConnectOptions = {
    ...options,
    apiKey: apiKey ?? missing('apiKey', 'API_KEY'),
    endpoint: endpoint ?? missing('endpoint', 'ENDPOINT'),
    manifest,
    ...(network === undefined ? {} : { fetch: network }),
    ...(software === undefined ? {} : { software: resolveSoftware(software, file) }),
  }
  checkOptions(resolved)
  return resolved
}

function resolveSoftware(
  software: NonNullable<ClientSettings['software']>,
  file: () => ClientFile,
): SoftwareAttestation {
  if (typeof software !== 'function') return software
  const root = readVariable('PRIVATEMODE_SOFTWARE_ROOT') ?? file().softwareRoot
  return software(root ?? missing('software', 'SOFTWARE_ROOT'))
}

function missing(option: string, variable: string): never {
  const places = `pass ${option}, or set PRIVATEMODE_${variable} or PRIVATEMODE_HOME`
  return invalid(`${option} is missing: ${places}`)
}

function invalid(message: string, cause?: unknown): never {
  throw new PrivatemodeError('invalid_options', message, { retryable: false }, { cause })
}

/** The part of the environment that Node, Bun and Deno have and browsers do not. */
type Host = {
  readonly env?: Readonly<Record<string, string | undefined>>
  getBuiltinModule?(name: 'node:fs'): { readFileSync(path: string, encoding: 'utf8'): string }
}

const host = (): Host | undefined => (globalThis as { readonly process?: Host }).process

function readVariable(name: string): string | undefined {
  const value = host()?.env?.[name]
  return value === '' ? undefined : value
}

/**
 * `$PRIVATEMODE_HOME/client.json` and the key file next to it, as `npm start` writes them. A file
 * in the current directory is never read implicitly: someone else's checkout must not choose where
 * an API key is sent.
 */
function readClientFile(): ClientFile {
  const home = readVariable('PRIVATEMODE_HOME')
  const files = host()?.getBuiltinModule?.('node:fs')
  if (home === undefined || files === undefined) return {}
  const path = `${home}/client.json`
  try {
    const file = JSON.parse(files.readFileSync(path, 'utf8')) as ClientFile
    return { ...file, apiKey: readKey() }
  } catch (cause) {
    return invalid(`cannot read ${path}, the path set by PRIVATEMODE_HOME`, cause)
  }

  function readKey(): string {
    return files?.readFileSync(`${home}/api-key`, 'utf8').trim() ?? ''
  }
}

function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
