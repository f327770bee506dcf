/** A minimal browser for the admin API: cookies, origin, CSRF token. */
import { checkDocumented } from './documented-answer.ts'

export type Browser = {
  request(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Response>
  /** The same, expecting an answer with that status. */
  json(method: string, path: string, body?: unknown, status?: number): Promise<Answer>
  cookie: string | undefined
  csrfToken: string | undefined
}

export type Answer = { readonly [field: string]: unknown } & {
  readonly csrf_token?: string
  readonly url?: string
  readonly member?: { readonly id: string; readonly account_id: string }
  readonly error?: { readonly code: string }
}

export function openBrowser(gatewayUrl: string): Browser {
  const keep = (cookie: string) => {
    const name = cookie.slice(0, cookie.indexOf('=') + 1)
    const others = (browser.cookie ?? '').split('; ').filter((each) => !each.startsWith(name))
    browser.cookie = [...others, cookie].filter((each) => each !== '').join('; ')
  }
  const browser: Browser = {
    cookie: undefined,
    csrfToken: undefined,
    async request(method, path, body, headers = {}) {
      const response = await fetch(`${gatewayUrl}/privatemode/v1/admin/${path}`, {
        method,
        redirect: 'manual',
        headers: {
          ...(method === 'GET' ? {} : { origin: gatewayUrl }),
          ...(browser.cookie === undefined ? {} : { cookie: browser.cookie }),
          ...(browser.csrfToken === undefined ? {} : { 'x-csrf-token': browser.csrfToken }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      for (const set of response.headers.getSetCookie()) keep(set.split(';')[0] ?? '')
      return response
    },
    async json(method, path, body, status = 200) {
      const response = await browser.request(method, path, body)
      const answer = (await response.json()) as Answer
      checkDocumented(method, path, response.status, answer)
      if (response.status !== status) {
        throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`)
      }
      if (answer.csrf_token !== undefined) browser.csrfToken = answer.csrf_token
      return answer
    },
  }
  return browser
}
