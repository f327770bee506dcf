/**
 * Calls that can be aborted by name. SGLang continues for two seconds after its reader is gone; asked
 * by name, it stops at once and ends the answer with its counts.
 */
import { randomBytes } from 'node:crypto'
import type { EngineCall, EngineEndpoint, JsonObject } from '../engine.ts'
import type { ServerKind } from './http-settings.ts'
import type { ServerClient } from './server-client.ts'

export type NamedCall = {
  /** The field of the request that has the name. */
  readonly fields: JsonObject
  /** Whether the server was reached, and so ends the answer by itself. */
  readonly abort: (() => Promise<boolean>) | undefined
}

const unnamed: NamedCall = { fields: {}, abort: undefined }
/** The server is next to the worker; one that takes longer has its connection closed instead. */
const abortWithinMs = 1_000

export function nameCall(
  client: ServerClient,
  kind: ServerKind,
  { endpoint, body }: Pick<EngineCall, 'endpoint' | 'body'>,
): NamedCall {
  const field = kind === 'sglang' ? nameFields[endpoint] : undefined
  if (field === undefined || hasSeveral(body)) return unnamed
  const rid = `privatemode-${randomBytes(16).toString('hex')}`
  return {
    fields: { [field]: rid },
    abort: () => client.tell('/abort_request', { rid }, AbortSignal.timeout(abortWithinMs)),
  }
}

const nameFields: Readonly<Record<EngineEndpoint, string | undefined>> = {
  chat: 'rid',
  completions: 'rid',
  responses: 'request_id',
  messages: undefined,
  embeddings: undefined,
}

/** The server invents a name for each choice and for each prompt of several. */
function hasSeveral({ n, prompt }: JsonObject): boolean {
  const isSeveral = Array.isArray(prompt) && !prompt.every((one) => typeof one === 'number')
  return isSeveral || (typeof n === 'number' && n > 1)
}
