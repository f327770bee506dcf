/** Reads a request's body within a limit, refusing as early as the headers allow; decodes gzip within the same limit. */
import { releaseBytes } from '@privatemode/http'
import { bodyTooLarge, decodeBody } from './decode-body.ts'
import { ServiceError } from './service-error.ts'

/** The runtime joins longer bodies at their end, which would block everyone else meanwhile. */
const joinedAtOnce = 64 * 1024

/**
 * The whole body as bytes.
 *
 * A declared length over the limit is refused before reading; an undeclared one once it is
 * exceeded.
 */
export async function readBody(
  request: Request,
  limitBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const declared = request.headers.get('content-length')
  if (declared !== null && Number(declared) > limitBytes) throw bodyTooLarge(limitBytes)
  try {
    const body = await readBytes(
      request,
      declared === null ? undefined : Number(declared),
      limitBytes,
    )
    return await decodeBody(body, request.headers.get('content-encoding'), limitBytes)
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause
    throw new ServiceError('body_interrupted', 'the request body ended before it was complete', {
      cause,
    })
  }
}

async function readBytes(
  request: Request,
  declaredBytes: number | undefined,
  limitBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (declaredBytes === undefined) return readStream(request, limitBytes)
  if (declaredBytes > joinedAtOnce) return readDeclared(request, declaredBytes)
  return new Uint8Array(await request.arrayBuffer())
}

/** Copies a long body into its buffer as it arrives, a piece at a time. */
async function readDeclared(
  request: Request,
  declaredBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const whole = new Uint8Array(declaredBytes)
  let size = 0
  for await (const part of request.body ?? []) {
    whole.set(part, size)
    size += part.length
    releaseBytes(part)
  }
  if (size < declaredBytes) throw new Error('the body is shorter than declared')
  return whole
}

async function readStream(request: Request, limitBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of request.body ?? []) {
    size += part.length
    if (size > limitBytes) throw bodyTooLarge(limitBytes)
    parts.push(part)
  }
  return new Uint8Array(Buffer.concat(parts))
}
