/** One of the three doors that clients reach, as a hostile one sees it. */
import type { ClientStack } from '../clients/client-stack.ts'

export type TargetName = 'proxy' | 'proxyless' | 'gateway'

/** Plain data: it is handed to the attacking process. */
export type Target = {
  readonly name: TargetName
  readonly port: number
  /** PEM of the authority, where TLS is spoken. */
  readonly ca: string | undefined
  /** Header lines with a good key, each ended; empty where none is needed. */
  readonly auth: string
  /** Where JSON bodies are read. */
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
