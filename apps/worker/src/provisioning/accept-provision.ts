/** Opens a sealed register token. Only the attested worker can: it is sealed to the key in its evidence. */
import { ApiError } from '@privatemode/protocol/api'
import {
  type Bytes,
  EnvelopeError,
  openRequest,
  type ReplayGuard,
  type RequestContext,
} from '@privatemode/protocol/envelope'
import { type ProvisionBody, workerPaths } from '@privatemode/protocol/fleet'
import { Secret } from '@privatemode/service'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import type { SealKeys } from '../sealed/seal-keys.ts'
import type { RegisterToken } from './register-token.ts'

export const maxProvisionBytes = 64 * 1024
const maxTokenCharacters = 4096

export type Provisioning = {
  readonly keys: Pick<SealKeys, 'findSecret'>
  readonly guard: ReplayGuard
  readonly token: RegisterToken
}

export async function acceptProvision(
  { keys, guard, token }: Provisioning,
  bytes: Bytes,
): Promise<void> {
  const accept = (context: RequestContext) => {
    // A sealed prompt must never be mistaken for a token, nor a token for a prompt.
    if (context.path !== workerPaths.provision) {
      throw new ApiError('malformed', 'the sealed message is not a register token')
    }
    guard.accept(context)
  }
  let body: Bytes
  try {
    body = (await openRequest(nativeCrypto, keys.findSecret, accept, bytes)).body
  } catch (error) {
    if (!(error instanceof EnvelopeError)) throw error
    throw new ApiError('malformed', 'the sealed register token cannot be opened')
  }
  if (!token.deliver(new Secret(parseToken(body)))) {
    throw new ApiError('not_found', 'the worker already has a register token')
  }
}

function parseToken(body: Bytes): string {
  let parsed: Partial<ProvisionBody> | null
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    parsed = null
  }
  const text = parsed?.register_token
  // Other characters are not allowed in header values.
  if (
    typeof text === 'string' &&
    text.length <= maxTokenCharacters &&
    /^[\x21-\x7e]+$/.test(text)
  ) {
    return text
  }
  throw new ApiError('malformed', 'register_token must be printable ASCII without spaces')
}
