/** A gateway with an admin, a member and the admin of another account, each in a browser. */
import { type Browser, openBrowser } from './browser.ts'
import { checkDocumented } from './documented-answer.ts'
import { startTestGateway, type TestGateway } from './test-gateway.ts'

export type AdminWorld = {
  readonly gateway: TestGateway
  readonly admin: Browser
  readonly member: Browser
  readonly outsider: Browser
  readonly otherAccount: string
  /** A browser without a session. */
  newBrowser(): Browser
  /** Sends a request with the operator's token. */
  operate(method: string, path: string, body?: unknown): Promise<Record<string, unknown>>
  /** Uses a one-time link to become a member. */
  join(wish: object, email: string): Promise<Browser>
}

/** The password of every member. */
export const password = 'correct horse battery staple'

export const tokenIn = (url: unknown) => String(url).split('#invitation=')[1]

export async function startAdminWorld(): Promise<AdminWorld> {
  const gateway = await startTestGateway({ args: ['--leaseSeconds', '600'] })
  const newBrowser = () => openBrowser(gateway.gateway.url)
  const operate: AdminWorld['operate'] = async (method, path, body) => {
    const response = await gateway.operate(method, path, body)
    const answer = (await response.json()) as Record<string, unknown>
    if (path.startsWith('admin/')) {
      checkDocumented(method, path.slice('admin/'.length), response.status, answer)
    }
    return answer
  }
  const join = async (wish: object, email: string) => {
    const { url } = await operate('POST', 'admin/invitations', wish)
    const browser = newBrowser()
    await browser.json('POST', 'invitations/accept', { token: tokenIn(url), email, password })
    return browser
  }
  const admin = await join({ role: 'admin' }, 'admin@example.org')
  const member = await join({ role: 'member' }, 'member@example.org')
  const account = await operate('POST', 'admin/accounts', { name: 'Other' })
  const otherAccount = String(account.id)
  const outsider = await join({ role: 'admin', account_id: otherAccount }, 'other@example.org')
  return { gateway, admin, member, outsider, otherAccount, newBrowser, operate, join }
}
