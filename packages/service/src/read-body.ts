/** Reads a request's body within a limit, refusing as early as the headers allow; decodes gzip within the same limit. */
import { bodyTooLarge, decodeBody } from './decode-body.ts'
import { ServiceError } from './service-error.ts'

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
    const body =
      declared === null
        ? await readStream(request, limitBytes)
        : new Uint8Array(await request.arrayBuffer())
    return await decodeBody(body, request.headers.get('content-encoding'), limitBytes)
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause
    throw new ServiceError('body_interrupted', 'the request body ended before it was complete', {
      cause,
    })
  }
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
