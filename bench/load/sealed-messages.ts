/** Builds the sealed requests of a client that has verified its worker, for loads on gateway or worker alone. */
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { relayHeaders, relayText } from '@privatemode/protocol/fleet'
import {
  createStaticSource,
  defaultMaxAnswerBytes,
  hardwareVerifiers,
  PrivateClient,
  vendorRoots,
} from '@privatemode/sdk'
import { softwareVerifier } from '@privatemode/sdk/software'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { type LoadSpec, modelOf, requestBody, type SealedSpec } from './load-spec.ts'

const sealedPath = '/privatemode/v1/sealed'

/** Every call returns a complete request with its own id, since a replay is refused. */
export async function createSealedMessages(
  spec: LoadSpec,
  sealed: SealedSpec,
): Promise<() => Buffer> {
  const client = new PrivateClient({
    endpoint: sealed.url,
    manifestSource: createStaticSource(readFileSync(sealed.manifestPath), async () => {}),
    roots: { ...vendorRoots, software: [sealed.rootFingerprint] },
    revocation: { allowUnknown: true, revokedGraceHours: 0 },
    hardware: hardwareVerifiers,
    software: softwareVerifier,
    crypto: nativeCrypto,
    fetch,
    shape: sealed.shape,
    now: () => new Date(),
    onEvent: () => {},
    candidates: 1,
    maxAnswerBytes: defaultMaxAnswerBytes,
    retryBudgetMs: 0,
  })
  await client.ready(sealed.apiKey)
  const { work } = spec
  const call = {
    path: spec.path,
    model: modelOf(work),
    body: new TextEncoder().encode(requestBody(work)),
    stream: work.kind !== 'chat' && work.kind !== 'embeddings',
    apiKey: sealed.apiKey,
  }
  await client.prepare(call) // the session is made with the first call
  return () => {
    const prepared = client.prepare(call)
    if (prepared instanceof Promise) throw new TypeError('the session is not warm')
    const { headers, request } = prepared
    let head = `POST ${sealedPath} HTTP/1.1\r\nhost: 127.0.0.1:${spec.port}\r\ncontent-length: ${request.lengthBytes}\r\n`
    for (const name in headers) head += `${name}: ${headers[name]}\r\n`
    head += relayFields(sealed, headers, request.lengthBytes)
    if (spec.churn) head += 'connection: close\r\n'
    const parts: Uint8Array[] = [Buffer.from(`${head}\r\n`, 'latin1'), ...request.first]
    for (let frame = request.next(); frame !== undefined; frame = request.next()) {
      if (frame instanceof Promise) throw new TypeError('the native provider answers at once')
      for (const piece of frame) parts.push(piece)
    }
    return Buffer.concat(parts)
  }
}

/** What the gateway would add for a worker. */
function relayFields(
  { relayKey }: SealedSpec,
  headers: Readonly<Record<string, string>>,
  lengthBytes: number,
): string {
  if (relayKey === undefined) return ''
  const names = relayHeaders
  const [keyRef, admission, sentAtMs] = ['key_bench', 'ab'.repeat(32), Date.now()]
  const text = relayText({
    ...{ keyRef, admission, sentAtMs, lengthBytes },
    workerId: headers['privatemode-workers'] ?? '',
    requestId: headers[names.requestId] ?? '',
    model: headers[names.model] ?? '',
    path: headers[names.path] ?? '',
  })
  const mac = createHmac('sha256', Buffer.from(relayKey, 'base64')).update(text).digest('base64url')
  return (
    `${names.keyRef}: ${keyRef}\r\n${names.admission}: ${admission}\r\n` +
    `${names.sentAt}: ${sentAtMs}\r\n${names.mac}: ${mac}\r\n`
  )
}
