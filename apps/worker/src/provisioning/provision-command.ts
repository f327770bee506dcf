/** `provision`: verifies a worker against a manifest, then seals the register token to it. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import {
  AttestationError,
  type AttestedWorker,
  parseAttestation,
  parseManifest,
  vendorRoots,
  verifyWorker,
} from '@privatemode/attestation'
import { softwareVerifier } from '@privatemode/attestation/software'
import { type Bytes, establishSession, sealRequest } from '@privatemode/protocol/envelope'
import { fleetPaths, type ProvisionBody, sealedMediaType } from '@privatemode/protocol/fleet'
import { type FlagTable, type Program, parseFlags, type Secret } from '@privatemode/service'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { contradiction, program } from '../settings.ts'

const flags = {
  url: { type: 'string', help: 'address of the worker, as its gateway reaches it' },
  manifestPath: { type: 'string', help: 'manifest that the worker must satisfy' },
  registerToken: {
    type: 'secret',
    help: "the gateway's register token, or @path of a file that contains it",
  },
  allowSoftwareAttestation: {
    type: 'boolean',
    default: false,
    help: 'accept a worker that attests in software, which proves nothing; needs softwareRootFingerprint',
  },
  softwareRootFingerprint: { type: 'string', help: 'root that signs software evidence' },
} as const satisfies FlagTable

const provisionProgram: Program<typeof flags> = {
  name: 'privatemode-worker provision',
  summary:
    'verifies a worker that was started with --awaitRegisterToken, and sends it the register token so that only that worker can read it',
  version: program.version,
  envPrefix: 'PRIVATEMODE_WORKER_PROVISION_',
  flags,
}

const timeoutMs = 60_000

export async function provision(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  now: Date,
): Promise<string> {
  const parsed = parseFlags(provisionProgram, { args, env })
  if (parsed.kind === 'text') return parsed.text
  const { url, manifestPath, registerToken, allowSoftwareAttestation } = parsed.values
  if (url === undefined || URL.parse(url) === null) throw contradiction('set --url to the worker')
  if (manifestPath === undefined) throw contradiction('set --manifestPath to the manifest')
  if (registerToken === undefined) throw contradiction('set --registerToken to the token to send')
  const root = allowSoftwareAttestation ? parsed.values.softwareRootFingerprint : undefined
  const base = url.replace(/\/+$/, '')
  const worker = await verify(base, manifestPath, root, now)
  const response = await post(base + fleetPaths.provision, sealedMediaType, {
    body: await sealToken(worker, registerToken, now),
  })
  if (response.status !== 204) {
    throw contradiction(`worker ${worker.workerId} refused the token (status ${response.status})`)
  }
  return `sent the register token to ${worker.workerId}, verified on ${worker.hardware ? 'hardware' : 'SOFTWARE evidence'}\n`
}

async function verify(
  base: string,
  manifestPath: string,
  softwareRoot: string | undefined,
  at: Date,
): Promise<AttestedWorker> {
  const manifest = await parseManifest(readFileSync(manifestPath))
  const nonce = randomBytes(32)
  const response = await post(base + fleetPaths.attestation, 'application/json', {
    body: JSON.stringify({ nonce: nonce.toString('hex') }),
  })
  if (!response.ok) throw contradiction(`the worker answered status ${response.status}`)
  const { statement, evidence } = parseAttestation(new Uint8Array(await response.arrayBuffer()))
  try {
    return await verifyWorker({
      ...{ nonce, statement, evidence, manifest, at },
      roots: { ...vendorRoots, software: softwareRoot === undefined ? [] : [softwareRoot] },
      revocation: { allowUnknown: false, revokedGraceHours: 0 },
      ...(softwareRoot !== undefined && { software: softwareVerifier }),
    })
  } catch (cause) {
    if (!(cause instanceof AttestationError)) throw cause
    const message = `the worker is not what the manifest lists, nothing was sent: ${cause.message} (${cause.code})`
    throw contradiction(message, cause)
  }
}

/** Sealed like a prompt, but under its own path. */
async function sealToken(worker: AttestedWorker, token: Secret, now: Date): Promise<Bytes> {
  const session = await establishSession(worker)
  const context = {
    requestId: new Uint8Array(randomBytes(16)),
    issuedAtMs: now.getTime(),
    method: 'POST',
    path: fleetPaths.provision,
    model: '',
  }
  const body: ProvisionBody = { register_token: token.reveal() }
  const text = new TextEncoder().encode(JSON.stringify(body))
  const head = { headers: {}, shape: 'default' } as const
  const { bytes } = await sealRequest(nativeCrypto, [session], context, head, text)
  return bytes
}

async function post(url: string, type: string, { body }: { body: string | Bytes }) {
  try {
    return await fetch(url, {
      method: 'POST',
      headers: { 'content-type': type },
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
  } catch (cause) {
    throw contradiction(`cannot reach the worker at ${url}`, cause)
  }
}
