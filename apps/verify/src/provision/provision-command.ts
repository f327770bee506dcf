/** `provision`: verifies a worker against a manifest, then seals the register token to it. */
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import {
  AttestationError,
  type AttestedWorker,
  type Manifest,
  parseAttestation,
  vendorRoots,
  verifyWorker,
} from '@privatemode/attestation'
import { softwareVerifier } from '@privatemode/attestation/software'
import { type Bytes, establishSession, sealRequest } from '@privatemode/protocol/envelope'
import { type ProvisionBody, sealedMediaType, workerPaths } from '@privatemode/protocol/fleet'
import { Secret } from '@privatemode/service'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { type Command, formatOptions, parseOptions, required, UsageError } from '../command.ts'
import { readManifest, takeFiles } from '../manifest/read-manifest.ts'

const options = {
  manifest: { value: 'FILE', help: 'manifest that the worker must satisfy' },
  token: { value: '@FILE', help: "file that contains the gateway's register token" },
  'software-root': {
    value: 'HEX',
    help: 'accept software evidence under this root fingerprint, which proves nothing: for trials',
  },
} as const

const unclear = 3
const timeoutMs = 60_000

export const provisionCommand: Command = {
  summary: 'verifies a worker, then sends it the register token so that only it can read it',
  help: `npm run -s verify -- provision URL --manifest FILE --token @FILE [options]

URL is the address of a worker that was started with --awaitRegisterToken. Nothing is sent unless
its evidence satisfies the manifest; the token is sealed to the key in that evidence. Exit code: 0
sent, 1 the worker is not what the manifest lists or refused the token, 3 it cannot be reached.

${formatOptions(options)}`,
  run: async (args, { out, error }) => {
    const { files, rest } = takeFiles(args, 'URL')
    const given = parseOptions(options, rest)
    const [url = ''] = files
    if (URL.parse(url) === null) throw new UsageError(`${url} is not a URL`)
    const token = await readToken(required(given.token, 'token'))
    try {
      const manifest = await readManifest(required(given.manifest, 'manifest'))
      const base = url.replace(/\/+$/, '')
      const worker = await verify(base, manifest, given['software-root']?.[0])
      const body = await sealToken(worker, token)
      const response = await post(base + workerPaths.provision, sealedMediaType, body)
      if (response.status !== 204) {
        error(`refused: worker ${worker.workerId} answered status ${response.status}`)
        return 1
      }
      const basis = worker.hardware ? 'hardware evidence' : 'SOFTWARE evidence'
      out(`sent the register token to ${worker.workerId}, verified by ${basis}`)
      return 0
    } catch (cause) {
      if (cause instanceof Unreachable) {
        error(cause.message)
        return unclear
      }
      if (!(cause instanceof AttestationError)) throw cause
      error(`refused, nothing was sent: ${cause.message} (${cause.code})`)
      return 1
    }
  },
}

class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

/** From a file: an argument would be visible to every user of this system. */
async function readToken(text: string): Promise<Secret> {
  if (!text.startsWith('@')) throw new UsageError('--token takes a file: write @FILE')
  try {
    return new Secret((await readFile(text.slice(1), 'utf8')).trim())
  } catch (cause) {
    throw new UsageError(`cannot read ${text.slice(1)}`, { cause })
  }
}

async function verify(
  base: string,
  manifest: Manifest,
  softwareRoot: string | undefined,
): Promise<AttestedWorker> {
  const nonce = randomBytes(32)
  const asked = JSON.stringify({ nonce: nonce.toString('hex') })
  const response = await post(base + workerPaths.attestation, 'application/json', asked)
  if (!response.ok) throw new Unreachable(`the worker answered status ${response.status}`)
  const { statement, evidence } = parseAttestation(new Uint8Array(await response.arrayBuffer()))
  return verifyWorker({
    ...{ nonce, statement, evidence, manifest, at: new Date() },
    roots: { ...vendorRoots, software: softwareRoot === undefined ? [] : [softwareRoot] },
    revocation: { allowUnknown: false, revokedGraceHours: 0 },
    ...(softwareRoot !== undefined && { software: softwareVerifier }),
  })
}

/** Sealed like a prompt, under a path of its own. */
async function sealToken(worker: AttestedWorker, token: Secret): Promise<Bytes> {
  const session = await establishSession(worker)
  const context = {
    requestId: new Uint8Array(randomBytes(16)),
    issuedAtMs: Date.now(),
    method: 'POST',
    path: workerPaths.provision,
    model: '',
  }
  const body: ProvisionBody = { register_token: token.reveal() }
  const text = new TextEncoder().encode(JSON.stringify(body))
  const head = { headers: {}, shape: 'default' } as const
  const { bytes } = await sealRequest(nativeCrypto, [session], context, head, text)
  return bytes
}

async function post(url: string, type: string, body: string | Bytes): Promise<Response> {
  const headers = { 'content-type': type }
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    return await fetch(url, { method: 'POST', headers, body, redirect: 'error', signal })
  } catch (cause) {
    throw new Unreachable(`cannot reach the worker at ${url}`, { cause })
  }
}
