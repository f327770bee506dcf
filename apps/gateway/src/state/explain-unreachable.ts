/** Explains why a database server is unusable: an unresolved name looks like an unanswered connection. */
import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { GatewayError } from '../gateway-error.ts'

type Lookup = (host: string) => Promise<unknown>

const lookupLimitMs = 3_000

export async function explainUnreachable(
  url: string,
  cause: unknown,
  lookup: Lookup = systemLookup,
  limitMs = lookupLimitMs,
): Promise<GatewayError> {
  const host = hostOf(url)
  const isName = host !== '' && isIP(host) === 0
  // The driver's message may repeat the address but never the password.
  const said = cause instanceof Error ? cause.message : 'unknown failure'
  const why =
    isName && !(await resolves(host, lookup, limitMs))
      ? `the name ${host} cannot be resolved; look at the name server of this machine or cluster (${said})`
      : said
  const message = `cannot use the database of DATABASE_URL: ${why}`
  return new GatewayError('database_unreachable', message, { cause })
}

/** The host the driver connects to; a socket's directory is not a host. */
function hostOf(url: string): string {
  if (!URL.canParse(url)) return ''
  return decodeURIComponent(new URL(url).hostname).replace(/^\[|\]$/g, '')
}

async function resolves(host: string, lookup: Lookup, limitMs: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs)
  })
  const found = lookup(host).then(
    () => true,
    () => false,
  )
  return Promise.race([found, late]).finally(() => clearTimeout(timer))
}
