/**
 * Decodes the content-encoding of a request body, within a limit: a small body may expand to a huge
 * one.
 */
import { ServiceError } from './service-error.ts'

/**
 * The decoded body; returned synchronously and unchanged if it was not encoded. `reserve` is called
 * before memory is used for it, and throws if there is none.
 */
export function decodeBody<Body extends Uint8Array>(
  body: Body,
  encoding: string | null | undefined,
  limitBytes: number,
  reserve: (bytes: number) => void = () => {},
): Body | Promise<Uint8Array<ArrayBuffer>> {
  if (encoding === null || encoding === undefined) return body
  switch (encoding.toLowerCase()) {
    case 'identity':
      return body
    case 'gzip':
      return decodeGzip(body, limitBytes, reserve)
  }
  throw new ServiceError(
    'body_encoding_unsupported',
    'the request body has a content-encoding other than gzip; send it plain or as gzip',
  )
}

/** The last bytes state the decoded length; only a body that lies, or has several members, needs more. */
async function decodeGzip(
  body: Uint8Array,
  limitBytes: number,
  reserve: (bytes: number) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  const declared = body.length < 4 ? 0 : Buffer.from(body.subarray(-4)).readUInt32LE()
  const expected = Math.min(limitBytes, Math.max(1, declared))
  reserve(expected)
  try {
    return await gunzipWithin(body, expected)
  } catch (error) {
    const isLonger = error instanceof ServiceError && error.code === 'body_too_large'
    if (!isLonger || expected === limitBytes) throw error
    reserve(limitBytes - expected)
    return gunzipWithin(body, limitBytes)
  }
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
