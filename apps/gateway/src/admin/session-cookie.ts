/** The cookie that carries a session. */

const lifetimeSeconds = 7 * 86_400

/** `__Host-` makes browsers refuse the cookie without Secure, with a Domain or another path. */
function cookieName(publicUrl: string): string {
  return publicUrl.startsWith('https:') ? '__Host-privatemode' : 'privatemode_session'
}

export function formatSessionCookie(token: string, publicUrl: string): string {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : ''
  return `${cookieName(publicUrl)}=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${lifetimeSeconds}${secure}`
}

export function formatEndedCookie(publicUrl: string): string {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : ''
  return `${cookieName(publicUrl)}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0${secure}`
}

export function sessionTokenOf(request: Request, publicUrl: string): string | undefined {
  const wanted = `${cookieName(publicUrl)}=`
  for (const part of (request.headers.get('cookie') ?? '').split(';')) {
    const cookie = part.trim()
    if (!cookie.startsWith(wanted)) continue
    const token = cookie.slice(wanted.length)
    return /^[A-Za-z0-9_-]{43}$/.test(token) ? token : undefined
  }
  return undefined
}
