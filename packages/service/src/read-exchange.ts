/** Reads the body of an exchange within a limit; decodes gzip within the same limit. */
import { type HttpExchange, MessageError, viewOf } from '@privatemode/http'
import { decodeBody } from './decode-body.ts'
import { ServiceError } from './service-error.ts'

/** A declared length over the limit is refused before reading; an undeclared one once it is exceeded. */
export async function readExchange(
  exchange: HttpExchange,
  limitBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  exchange.invite()
  const whole = exchange.body.whole(limitBytes)
  const range = whole instanceof Promise ? await whole.catch(interrupted) : whole
  const { buffer, byteOffset, length } = viewOf(range) as Buffer<ArrayBuffer>
  // Not a `Buffer`, whose slices are not copies.
  const bytes = new Uint8Array(buffer, byteOffset, length)
  return decodeBody(bytes, exchange.head.fields.get('content-encoding'), limitBytes)
}

function interrupted(cause: unknown): never {
  if (cause instanceof MessageError) throw cause
  const message = 'the request body ended before it was complete'
  throw new ServiceError('body_interrupted', message, { cause })
}
