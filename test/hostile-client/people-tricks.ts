/** Attacks by people with or without an account: each is played once against the gateway's admin API. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openBrowser } from '../../apps/gateway/src/testing/browser.ts'
import type { ClientStack } from '../clients/client-stack.ts'

export type PeopleTrick = {
  readonly name: string
  /** Plays it; returns what the attacker got, and why that is too much. */
  readonly play: (people: People) => Promise<PeopleResult>
}

export type PeopleResult = { readonly got: string; readonly problems: readonly string[] }

const password = 'correct horse battery staple'
const lanes = 24
const guesses = 18

/** The gateway of a running stack, and how people reach it. */
export class People {
  readonly #stack: ClientStack['stack']

  constructor({ stack }: Pick<ClientStack, 'stack'>) {
    this.#stack = stack
  }

  browser() {
    return openBrowser(this.#stack.gatewayUrl)
  }

  /** A request with the operator's token. */
  async operate(method: string, path: string, body: object): Promise<Record<string, unknown>> {
    const token = readFileSync(join(this.#stack.home, 'keys', 'admin-token'), 'utf8')
    const response = await fetch(`${this.#stack.gatewayUrl}/privatemode/v1/admin/${path}`, {
      ...{ method, headers: { authorization: `Bearer ${token}` }, body: JSON.stringify(body) },
    })
    return (await response.json()) as Record<string, unknown>
  }

  /** A person who has accepted an invitation. */
  async join(wish: object) {
    const email = `${crypto.randomUUID()}@example.org`
    const { url } = await this.operate('POST', 'invitations', wish)
    const browser = this.browser()
    await browser.json('POST', 'invitations/accept', { token: tokenIn(url), email, password })
    const id = (await browser.json('GET', 'session')).member?.id ?? ''
    return { browser, email, id }
  }

  async accept(url: unknown, more: object): Promise<number> {
    const body = { token: tokenIn(url), password, ...more }
    return (await this.browser().request('POST', 'invitations/accept', body)).status
  }
}

const tokenIn = (url: unknown) => String(url).split('#invitation=')[1]

const expectStatus = (status: number, wanted: number): PeopleResult => ({
  got: String(status),
  problems: status === wanted ? [] : [`answered ${status}, expected ${wanted}`],
})

export const peopleTricks: readonly PeopleTrick[] = [
  {
    name: 'a disabled admin comes back by an invitation',
    async play(people) {
      await people.join({ role: 'admin' }) // the last admin of an account cannot be disabled
      const { browser, id } = await people.join({ role: 'admin' })
      const { url } = await browser.json('POST', 'invitations', { role: 'admin' }, 201)
      await people.operate('PATCH', `members/${id}`, { disabled: true })
      return expectStatus(await people.accept(url, { email: 'back@example.org' }), 403)
    },
  },
  {
    name: 'a demoted admin takes over a member by a password link',
    async play(people) {
      const victim = await people.join({ role: 'admin' })
      const { browser, id } = await people.join({ role: 'admin' })
      const { url } = await browser.json('POST', `members/${victim.id}/reset`, undefined, 201)
      await people.operate('PATCH', `members/${id}`, { role: 'member' })
      return expectStatus(await people.accept(url, {}), 403)
    },
  },
  {
    name: `one link used ${lanes} times at once`,
    async play(people) {
      const { url } = await people.operate('POST', 'invitations', { role: 'member' })
      const email = () => `${crypto.randomUUID()}@example.org`
      const statuses = await Promise.all(
        Array.from({ length: lanes }, () => people.accept(url, { email: email() })),
      )
      const joined = statuses.filter((status) => status === 200).length
      return {
        got: `${joined} of ${lanes} accepted`,
        problems: joined === 1 ? [] : [`${joined} members by one link`],
      }
    },
  },
  {
    name: `${guesses} passwords guessed at once`,
    async play(people) {
      const { email } = await people.join({ role: 'member' })
      const tried = await Promise.all(
        Array.from({ length: guesses }, async (_, index) => {
          const guess = index < guesses - 1 ? `a wrong guess ${index}` : password
          const body = { email, password: guess }
          return (await people.browser().request('POST', 'session', body)).status
        }),
      )
      const counted = tried.filter((status) => status === 401 || status === 200).length
      return {
        got: `${counted} of ${guesses} tried`,
        problems: counted <= 5 ? [] : [`${counted} guesses passed the lock-out`],
      }
    },
  },
  {
    name: `${lanes} connections that guess links while somebody signs in`,
    async play(people) {
      const { email } = await people.join({ role: 'member' })
      let over = false
      const statuses = new Map<number, number>()
      const lane = async () => {
        while (!over) {
          const token = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString(
            'base64url',
          )
          const status = await people.accept(`#invitation=${token}`, { email: 'x@example.org' })
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
        }
      }
      const running = Array.from({ length: lanes }, lane)
      const signedIn: number[] = []
      for (let turn = 0; turn < 3; turn++) {
        const body = { email, password }
        signedIn.push((await people.browser().request('POST', 'session', body)).status)
      }
      over = true
      await Promise.all(running)
      const failed = signedIn.filter((status) => status !== 200)
      return {
        got: [...statuses].map(([status, count]) => `${count} ${status}`).join(', '),
        problems: failed.length === 0 ? [] : [`signing in answered ${failed.join(', ')}`],
      }
    },
  },
  {
    name: 'a member lifts an expiry that an admin set',
    async play(people) {
      const { browser } = await people.join({ role: 'member' })
      const key = await browser.json('POST', 'keys', { name: 'capped' }, 201)
      const end = new Date(Date.now() + 86_400_000).toISOString()
      await people.operate('PATCH', `keys/${key.id}`, { expires_at: end })
      const lifted = await browser.request('PATCH', `keys/${key.id}`, { expires_at: null })
      return expectStatus(lifted.status, 403)
    },
  },
  {
    name: 'an organisation takes the address of another',
    async play(people) {
      const email = `ceo-${crypto.randomUUID()}@victim.example`
      const account = await people.operate('POST', 'accounts', { name: 'Squatter' })
      const squatter = await people.join({ role: 'admin', account_id: account.id })
      const wish = { role: 'member', email }
      const theirs = await squatter.browser.json('POST', 'invitations', wish, 201)
      await people.accept(theirs.url, {})
      const { url } = await people.operate('POST', 'invitations', wish)
      const status = await people.accept(url, {})
      return { ...expectStatus(status, 200), got: status === 200 ? 'nothing' : 'the address' }
    },
  },
  {
    name: 'an operator drains the last machine by mistake',
    async play(people) {
      const { browser } = await people.join({ role: 'admin' })
      const { workers } = await browser.json('GET', 'workers')
      const [{ id } = { id: '' }] = workers as { id: string }[]
      return expectStatus((await browser.request('POST', `workers/${id}/drain`, {})).status, 409)
    },
  },
]
