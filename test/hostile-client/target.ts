/** One of the three endpoints that clients reach, as a hostile client sees it. */
import type { ClientStack } from '../clients/client-stack.ts'

export type TargetName = 'proxy' | 'proxyless' | 'gateway'

/** Plain data, because it is passed to the attacking process. */
export type Target = {
  readonly name: TargetName
  readonly port: number
  /** PEM of the authority, if TLS is used. */
  readonly ca: string | undefined
  /** Header lines with a valid key, each with its line break; empty if none is needed. */
  readonly auth: string
  /** Whether JSON bodies are parsed there. */
  readonly jsonPath: string
  readonly pid: number
  readonly workerPid: number
}

export function targetsOf(place: ClientStack): Target[] {
  const { stack } = place
  const port = (url: string) => Number(new URL(url).port)
  const chat = '/v1/chat/completions'
  const workerPid = stack.pidOf('worker')
  const bearer = `authorization: Bearer ${stack.apiKey}\r\n`
  return [
    {
      name: 'proxy',
      port: port(stack.proxyUrl),
      ca: undefined,
      auth: '',
      jsonPath: chat,
      pid: stack.pidOf('proxy'),
      workerPid,
    },
    {
      name: 'proxyless',
      port: port(stack.proxylessUrl),
      ca: stack.ca,
      auth: bearer,
      jsonPath: chat,
      pid: stack.pidOf('proxyless'),
      workerPid,
    },
    {
      name: 'gateway',
      port: port(stack.gatewayUrl),
      ca: undefined,
      auth: bearer,
      jsonPath: '/privatemode/v1/admin/session',
      pid: stack.pidOf('gateway'),
      workerPid,
    },
  ]
}
