/** Reads a request's body within a limit, refusing as early as the headers allow; decodes gzip within the same limit. */
import type { Gunzip } from 'node:zlib'
import { ServiceError } from './service-error.ts'

/**
 * The whole body as bytes.
 *
 * A declared length over the limit is refused before anything is read; an undeclared one as soon as it is passed.
 */
export function readBody(request: Request, limitBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const encoding = request.headers.get('content-encoding')
  const declared = request.headers.get('content-length')
  if (declared !== null && Number(declared) > limitBytes)
    return Promise.reject(tooLarge(limitBytes))
  if (encoding === null || encoding === 'identity') {
    return declared === null ? readStream(request, limitBytes) : readDeclared(request)
  }
  if (encoding.toLowerCase() === 'gzip') return readGzip(request, limitBytes)
  return Promise.reject(
    new ServiceError(
      'body_encoding_unsupported',
      'the request body has a content-encoding other than gzip; send it plain or as gzip',
    ),
  )
}

async function readDeclared(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await request.arrayBuffer())
  } catch (cause) {
    throw interrupted(cause)
  }
}

async function readStream(request: Request, limitBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = []
  let size = 0
  try {
    for await (const part of request.body ?? []) {
      size += part.length
      if (size > limitBytes) throw tooLarge(limitBytes)
      parts.push(part)
    }
  } catch (cause) {
    throw cause instanceof ServiceError ? cause : interrupted(cause)
  }
  return joined(parts, size)
}

async function readGzip(request: Request, limitBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const { createGunzip } = await import('node:zlib') // seldom needed, slow to load
  const gunzip = createGunzip()
  const feeding = feed(request, gunzip, limitBytes)
  const parts: Uint8Array[] = []
  let size = 0
  try {
    for await (const part of gunzip as AsyncIterable<Uint8Array>) {
      size += part.length
      if (size > limitBytes) throw tooLarge(limitBytes)
      parts.push(part)
    }
    await feeding
  } catch (cause) {
    gunzip.destroy()
    if (cause instanceof ServiceError) throw cause
    throw new ServiceError('body_encoding_broken', 'the request body is not valid gzip')
  }
  return joined(parts, size)
}

async function feed(request: Request, gunzip: Gunzip, limitBytes: number): Promise<void> {
  let size = 0
  try {
    for await (const part of request.body ?? []) {
      size += part.length
      if (size > limitBytes) throw tooLarge(limitBytes)
      if (gunzip.destroyed) return
      if (!gunzip.write(part)) await new Promise<void>((resolve) => drained(gunzip, resolve))
    }
    gunzip.end()
  } catch (cause) {
    gunzip.destroy(cause instanceof ServiceError ? cause : interrupted(cause))
  }
}

function drained(gunzip: Gunzip, resolve: () => void): void {
  gunzip.once('drain', resolve)
  gunzip.once('close', resolve)
}

function joined(parts: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const only = parts[0]
  if (parts.length === 1 && only?.buffer instanceof ArrayBuffer) {
    return only as Uint8Array<ArrayBuffer>
  }
  const whole = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

function tooLarge(limitBytes: number): ServiceError {
  return new ServiceError(
    'body_too_large',
    `the request body is over the limit of ${limitBytes} bytes`,
  )
}

function interrupted(cause: unknown): ServiceError {
  return new ServiceError('body_interrupted', 'the request body ended before it was complete', {
    cause,
  })
}
