/** Decides whether a URL is reached through `https_proxy`, interpreting `no_proxy` as Go and curl do. */
import { ipVersion, isInNetwork } from './ip-address.ts'
import { ServiceError } from './service-error.ts'

type Env = Readonly<Record<string, string | undefined>>

/** The proxy's URL, or `undefined` for a direct connection. Loopback and plain http are always direct. */
export function chooseProxy(url: URL, env: Env): string | undefined {
  const proxy = env.https_proxy || env.HTTPS_PROXY
  if (!proxy || url.protocol !== 'https:') return undefined
  const host = bareHost(url.hostname)
  if (isLoopback(host)) return undefined
  const exceptions = env.no_proxy || env.NO_PROXY || ''
  const port = url.port || '443'
  for (const entry of exceptions.split(',')) {
    if (matches(entry.trim().toLowerCase(), host, port)) return undefined
  }
  return checkProxy(proxy)
}

function checkProxy(text: string): string {
  const spelled = text.includes('://') ? text : `http://${text}`
  const url = URL.canParse(spelled) ? new URL(spelled) : undefined
  if (url?.protocol !== 'http:') {
    throw new ServiceError(
      'flag_invalid',
      'https_proxy is not an http URL; write it as http://host:port',
    )
  }
  return url.href
}

function matches(entry: string, host: string, port: string): boolean {
  if (entry === '') return false
  if (entry === '*') return true
  const { name, onPort } = splitPort(entry)
  if (onPort !== undefined && onPort !== port) return false
  if (name.includes('/')) return isInNetwork(name, host)
  const bare = name.startsWith('*.') ? name.slice(1) : name
  if (bare.startsWith('.')) return host.endsWith(bare)
  return host === bare || host.endsWith(`.${bare}`)
}

function splitPort(entry: string): { name: string; onPort: string | undefined } {
  const bracketed = /^\[([^\]]+)\](?::(\d+))?$/.exec(entry)
  if (bracketed !== null) return { name: bracketed[1] ?? '', onPort: bracketed[2] }
  if (ipVersion(entry) === 6 || (entry.includes('/') && entry.includes(':'))) {
    return { name: entry, onPort: undefined }
  }
  const [name = '', onPort] = entry.split(':')
  return { name, onPort }
}

/** Whether a host name or address always refers to this machine. */
export function isLoopback(host: string): boolean {
  const bare = bareHost(host)
  return (
    bare === 'localhost' || bare === '::1' || (ipVersion(bare) === 4 && bare.startsWith('127.'))
  )
}

function bareHost(host: string): string {
  return host.replace(/^\[|\]$/g, '').toLowerCase()
}
