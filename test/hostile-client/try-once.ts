/** Sends one message of a hostile client and checks the answer. */
import type { ClientStack } from '../clients/client-stack.ts'
import { type OnceTrick, smuggled } from './once-tricks.ts'
import type { Target } from './target.ts'
import { Wire } from './wire.ts'

export type OnceResult = { readonly status: number; readonly problems: readonly string[] }

export async function tryOnce(
  place: ClientStack,
  trick: OnceTrick,
  target: Target,
): Promise<OnceResult> {
  const wire = await Wire.open(target)
  const seenBefore = place.server.requests.length
  wire.send(trick.bytes(target))
  const { statuses, body, closed } = await wire.answer()
  wire.close()
  const problems: string[] = []
  const [status = 0] = statuses
  const isPage = target.name === 'gateway' && status === 200 && body.startsWith('<!doctype html>')
  const isRight = trick.statuses.includes(status) || (isPage && trick.statuses.includes(404))
  if (!isRight) {
    problems.push(`answered ${status}, expected ${trick.statuses.join(' or ')}`)
  }
  if (statuses.length > 1) problems.push(`${statuses.length} answers to one message`)
  if (trick.group === 'smuggling' && !closed) problems.push('the connection stayed open')
  if (status >= 400) problems.push(...judgeError(body))
  const reached = place.server.requests.slice(seenBefore)
  if (reached.some((request) => JSON.stringify(request.body).includes(smuggled))) {
    problems.push('what was smuggled reached the model')
  }
  return { status, problems }
}

/** An error is JSON with a readable message, and reveals nothing about the program. */
function judgeError(body: string): string[] {
  let error: { message?: unknown } | undefined
  try {
    error = (JSON.parse(body) as { error?: { message?: unknown } }).error
  } catch {
    return [`the error is not JSON: ${body.slice(0, 80)}`]
  }
  if (typeof error?.message !== 'string' || error.message.length < 5) return ['no message']
  if (/\bat .*:\d+:\d+|node_modules|\.ts:/.test(body)) return ['the error shows code']
  return []
}
