/** The cookies of sessions, known browsers, and sign-ins through an identity provider. */

const lifetimeSeconds = 7 * 86_400
const oidcSeconds = 600
const browserSeconds = 180 * 86_400

/** With `__Host-`, browsers refuse the cookie without Secure, with a Domain or with another path. */
function cookieName(publicUrl: string): string {
  return publicUrl.startsWith('https:') ? '__Host-privatemode' : 'privatemode_session'
}

const browserCookieName = (publicUrl: string): string => `${cookieName(publicUrl)}_browser`

const oidcCookieName = (publicUrl: string): string => `${cookieName(publicUrl)}_oidc`

export function formatSessionCookie(token: string, publicUrl: string): string {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : ''
  return `${cookieName(publicUrl)}=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${lifetimeSeconds}${secure}`
}

/** Outlives the session: it grants no access, but keeps others from locking this browser out. */
export function formatBrowserCookie(token: string, publicUrl: string): string {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : ''
  return `${browserCookieName(publicUrl)}=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${browserSeconds}${secure}`
}

export function browserTokenOf(request: Request, publicUrl: string): string | undefined {
  return tokenOf(request, browserCookieName(publicUrl))
}

export function formatEndedCookie(publicUrl: string): string {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : ''
  return `${cookieName(publicUrl)}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0${secure}`
}

/** Lax: the browser must send it when the identity provider, another site, redirects back. */
export function formatOidcCookie(state: string, publicUrl: string): string {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : ''
  return `${oidcCookieName(publicUrl)}=${state}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${oidcSeconds}${secure}`
}

export function oidcStateOf(request: Request, publicUrl: string): string | undefined {
  return tokenOf(request, oidcCookieName(publicUrl))
}

export function sessionTokenOf(request: Request, publicUrl: string): string | undefined {
  return tokenOf(request, cookieName(publicUrl))
}

function tokenOf(request: Request, name: string): string | undefined {
  const wanted = `${name}=`
  for (const part of (request.headers.get('cookie') ?? '').split(';')) {
    const cookie = part.trim()
    if (!cookie.startsWith(wanted)) continue
    const token = cookie.slice(wanted.length)
    return /^[A-Za-z0-9_-]{43}$/.test(token) ? token : undefined
  }
  return undefined
}
