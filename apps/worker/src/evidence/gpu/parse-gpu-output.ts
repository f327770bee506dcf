/** Parses the output of NVIDIA's tool: GPU reports and certificates, as JSON. */
import { parsePem, parseSpdmReport } from '@privatemode/attestation/inspect'
import type { Bytes } from '@privatemode/protocol/envelope'
import { WorkerError } from '../../worker-error.ts'

export type GpuReport = {
  /** SPDM request and response, as signed by the device. */
  readonly report: Bytes
  /** PEM, leaf first. */
  readonly certificateChain: string
}

type Json = { readonly [name: string]: unknown }

/**
 * Accepts a bare list of evidence, or one inside the tool's result. Unknown members are ignored:
 * they are not forwarded, and newer tools add more.
 */
export function parseGpuOutput(output: Bytes, nonceHex: string, count: number): GpuReport[] {
  const list = readList(parseJson(output))
  if (list.length !== count) refuse(`evidence of ${list.length} GPUs, expected ${count}`)
  return list.map((item, index) => readReport(item, index, nonceHex))
}

function readList(json: unknown): readonly unknown[] {
  if (Array.isArray(json)) return json
  const { evidences, result_code, result_message } = readObject(json, 'the output')
  if (result_code !== 0) {
    const message = typeof result_message === 'string' ? result_message.slice(0, 200) : 'no message'
    refuse(`the tool's result is ${JSON.stringify(result_code)}: ${message}`)
  }
  return Array.isArray(evidences) ? evidences : refuse('the output has no list of evidence')
}

function readReport(item: unknown, index: number, nonceHex: string): GpuReport {
  const fields = readObject(item, `GPU ${index}`)
  if (typeof fields.arch !== 'string') refuse(`GPU ${index} has no architecture`)
  if (fields.nonce !== nonceHex) refuse(`GPU ${index} was asked with another nonce`)
  const report = readBase64(fields.evidence, `the report of GPU ${index}`)
  const certificateChain = new TextDecoder().decode(
    readBase64(fields.certificate, `the certificate of GPU ${index}`),
  )
  const signedNonce = Buffer.from(parse(index, () => parseSpdmReport(report)).nonce)
  if (signedNonce.toString('hex') !== nonceHex) refuse(`GPU ${index} signed another nonce`)
  parse(index, () => parsePem(certificateChain))
  return { report, certificateChain }
}

function readObject(value: unknown, what: string): Json {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Json) : refuse(`${what} is not an object`)
}

function readBase64(value: unknown, what: string): Bytes {
  if (typeof value !== 'string' || !/^[A-Za-z0-9+/]+={0,2}$/.test(value)) {
    return refuse(`${what} is not base64`)
  }
  return new Uint8Array(Buffer.from(value, 'base64'))
}

function parseJson(output: Bytes): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(output))
  } catch (cause) {
    return refuse('the output is not JSON', cause)
  }
}

function parse<T>(index: number, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    return refuse(`the evidence of GPU ${index} cannot be read`, cause)
  }
}

function refuse(message: string, cause?: unknown): never {
  throw new WorkerError('gpu_evidence_unavailable', message, { cause })
}
