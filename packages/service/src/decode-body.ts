/**
 * Decodes the content-encoding of a request body, within a limit: a small body may expand to a huge
 * one.
 */
import { ServiceError } from './service-error.ts'

/** The decoded body; returned synchronously and unchanged if it was not encoded. */
export function decodeBody<Body extends Uint8Array>(
  body: Body,
  encoding: string | null | undefined,
  limitBytes: number,
): Body | Promise<Uint8Array<ArrayBuffer>> {
  if (encoding === null || encoding === undefined) return body
  switch (encoding.toLowerCase()) {
    case 'identity':
      return body
    case 'gzip':
      return gunzipWithin(body, limitBytes)
  }
  throw new ServiceError(
    'body_encoding_unsupported',
    'the request body has a content-encoding other than gzip; send it plain or as gzip',
  )
}

async function gunzipWithin(
  body: Uint8Array,
  limitBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const { gunzip } = await import('node:zlib') // rarely needed, slow to load
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array<ArrayBuffer>>()
  gunzip(body, { maxOutputLength: limitBytes }, (error, decoded) => {
    if (error === null) {
      const { buffer, byteOffset, length } = decoded as Buffer<ArrayBuffer>
      // Not a `Buffer`, whose slices are not copies.
      resolve(new Uint8Array(buffer, byteOffset, length))
    } else if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') {
      reject(bodyTooLarge(limitBytes))
    } else reject(new ServiceError('body_encoding_broken', 'the request body is not valid gzip'))
  })
  return promise
}

export function bodyTooLarge(limitBytes: number): ServiceError {
  return new ServiceError(
    'body_too_large',
    `the request body is over the limit of ${limitBytes} bytes`,
  )
}
