/** Runs a page in a real browser without a window; the page posts what it found to its server. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findChromium } from '../browser/chromium.ts'

export type Browser = {
  readonly name: string
  /** The command line that opens a URL; undefined where the browser is not there. */
  readonly command: ((profile: string, url: string) => readonly string[]) | undefined
}

export const browsers: readonly Browser[] = [
  {
    name: 'Chromium',
    command: where(await findChromium(), (path) => (profile, url) => [
      path,
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--no-first-run',
      `--user-data-dir=${profile}`,
      url,
    ]),
  },
  {
    name: 'Firefox',
    command: where(find('/usr/bin/firefox-esr'), (path) => (profile, url) => {
      writeFileSync(join(profile, 'user.js'), quietFirefox)
      return [path, '--headless', '--no-remote', '--profile', profile, url]
    }),
  },
]

const quietFirefox = [
  'app.update.enabled',
  'browser.shell.checkDefaultBrowser',
  'datareporting.policy.dataSubmissionEnabled',
  'network.captive-portal-service.enabled',
  'network.connectivity-service.enabled',
  'toolkit.telemetry.enabled',
]
  .map((name) => `user_pref("${name}", false);\n`)
  .join('')

/** Opens a page made of one script; resolves with what it posts to `/outcomes`. */
export async function runPage(
  command: NonNullable<Browser['command']>,
  script: string,
  files: Readonly<Record<string, Response>>,
  limitMs: number,
): Promise<unknown> {
  const profile = mkdtempSync(join(tmpdir(), 'privatemode-browser-'))
  let posted: (value: unknown) => void = () => {}
  const outcome = new Promise<unknown>((resolve) => {
    posted = resolve
  })
  const html = '<!doctype html><meta charset="utf-8"><script type="module" src="/page.js"></script>'
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    routes: {
      ...files,
      '/': new Response(html, { headers: { 'content-type': 'text/html' } }),
      '/page.js': new Response(script, { headers: { 'content-type': 'text/javascript' } }),
      '/outcomes': async (request: Request) => {
        posted(await request.json())
        return new Response()
      },
    },
    fetch: () => new Response(null, { status: 404 }),
  })
  const child = Bun.spawn([...command(profile, `http://127.0.0.1:${server.port}/`)], {
    stdout: 'ignore',
    stderr: 'ignore',
    env: { ...process.env, HOME: profile },
  })
  const timer = setTimeout(() => posted([{ name: 'the page', failure: 'said nothing' }]), limitMs)
  try {
    return await outcome
  } finally {
    clearTimeout(timer)
    child.kill()
    await child.exited
    await server.stop(true)
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
  }
}

function where<T>(path: string | undefined, make: (path: string) => T): T | undefined {
  return path === undefined ? undefined : make(path)
}

function find(path: string): string | undefined {
  return existsSync(path) ? path : undefined
}
