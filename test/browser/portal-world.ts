/** The portal on a running stack, behind a tap on the wire, in a real browser. */
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import {
  type ScriptedServer,
  startScriptedServer,
} from '../../packages/inference/src/testing/scripted-server.ts'
import { type Recording, startRecordingRelay } from '../blindness/recording-relay.ts'
import { type RunningStack, runStack } from '../e2e/running-stack.ts'

export type PortalWorld = {
  readonly browser: Browser
  readonly stack: RunningStack
  readonly server: ScriptedServer
  /** All traffic between browser and gateway. */
  readonly tap: Recording
  /** Where the browser finds the portal: behind the tap. */
  readonly origin: string
  /** Console errors of pages, and every origin they contacted. */
  readonly seen: { readonly complaints: string[]; readonly origins: Set<string> }
  /** A person with their own browser. */
  visitor(options?: BrowserContextOptions): Promise<Visitor>
  stop(): Promise<void>
}

export type Visitor = { readonly context: BrowserContext; readonly page: Page }

/** What a flow works with: one stack, and the first admin at a browser. */
export type Flow = { world(): PortalWorld; admin(): Visitor }

export const admin = {
  name: 'Ada Admin',
  email: 'ada@example.com',
  password: 'correct horse battery staple',
} as const

export async function startPortalWorld(browser: Browser): Promise<PortalWorld> {
  const server = startScriptedServer({
    kind: 'vllm',
    cache: 'salted',
    models: ['scripted', 'scripted-large'],
    visionModels: ['scripted-large'],
  })
  const stack = await runStack(['--engineUrl', server.url])
  const tap = startRecordingRelay(stack.gatewayUrl)
  const seen = { complaints: [] as string[], origins: new Set<string>() }
  const visitor = async (options: BrowserContextOptions = {}) => {
    const context = await browser.newContext({ baseURL: tap.url, ...options })
    // Less than a test's limit: a failure reports its location and does not overlap with the next test.
    context.setDefaultTimeout(50_000)
    const page = await context.newPage()
    watch(page, seen)
    return { context, page }
  }
  return {
    browser,
    stack,
    server,
    tap,
    origin: tap.url,
    seen,
    visitor,
    async stop() {
      await browser.close()
      tap.stop()
      await stack.stop()
      await server.stop()
    },
  }
}

/** The browser itself logs refused requests; anything else in the console is an error. */
function watch(page: Page, seen: PortalWorld['seen']): void {
  page.on('pageerror', (error) => seen.complaints.push(error.message))
  page.on('console', (message) => {
    const expected = /Failed to load resource|net::ERR_/.test(message.text())
    if (message.type() === 'error' && !expected) seen.complaints.push(message.text())
  })
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url())
    if (protocol.startsWith('http')) seen.origins.add(origin)
  })
}

/** The link that the stack printed, as it is at the address where the browser finds the portal. */
export function firstAccountLink({ stack, origin }: Pick<PortalWorld, 'stack' | 'origin'>): string {
  const [, hash] = /http:\S+\/(#invitation=\S+)/.exec(stack.output()) ?? []
  if (hash === undefined) throw new Error('the stack printed no link')
  return `${origin}/${hash}`
}

export async function createFirstAccount(page: Page, link: string): Promise<void> {
  await page.goto(link)
  await page.getByLabel('Name').fill(admin.name)
  await page.getByLabel('E-mail').fill(admin.email)
  await page.getByLabel('Password').fill(admin.password)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('heading', { name: 'Quick start' }).waitFor()
}

export async function signIn(page: Page, who: { email: string; password: string }): Promise<void> {
  await page.goto('/')
  await page.getByLabel('E-mail').fill(who.email)
  await page.getByLabel('Password').fill(who.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Quick start', level: 1 }).waitFor()
}

/** The first page, signed in, with nothing open, whatever the previous test left. */
export async function startAfresh(page: Page): Promise<void> {
  await page.goto('/')
  const stranger = page.getByRole('heading', { name: 'Sign in' })
  await page.getByRole('heading', { name: 'Quick start', level: 1 }).or(stranger).waitFor()
  if (await stranger.isVisible()) await signIn(page, admin)
}

/** Opens a page by its link, as people do. */
export async function open(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
  await page.getByRole('heading', { name, level: 1 }).waitFor()
}
