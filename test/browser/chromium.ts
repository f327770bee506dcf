/** A real Chromium: the system's, or the one from npm if there is none. */
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const paths = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const quiet = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Its path; undefined if there is none. */
export async function findChromium(): Promise<string | undefined> {
  return paths.find(existsSync) ?? (await unpackChromium())
}

/** Undefined if neither starts; tests are then skipped, with a reason. */
export async function launchChromium(): Promise<Browser | undefined> {
  const executablePath = await findChromium()
  if (executablePath === undefined) return undefined
  const timeout = 120_000 // a slow machine must not look like one without a browser
  return chromium.launch({ executablePath, args: quiet, timeout }).catch(() => undefined)
}

/**
 * The package unpacks 200 MB into the temporary folder and assumes that existing files are complete.
 * Tests run in parallel and may be killed: it unpacks into a folder that is renamed once complete.
 */
async function unpackChromium(): Promise<string | undefined> {
  const home = join(tmpdir(), `privatemode-chromium-${packageVersion() ?? 'none'}`)
  if (!existsSync(home)) {
    const folder = mkdtempSync(join(tmpdir(), 'privatemode-unpacking-'))
    try {
      const unpack = "(await import('@sparticuz/chromium')).default.executablePath()"
      const child = Bun.spawn([process.execPath, '-e', `await ${unpack}`], {
        cwd: import.meta.dir,
        env: { ...process.env, TMPDIR: folder },
        stdio: ['ignore', 'ignore', 'ignore'],
      })
      if ((await child.exited) !== 0) return undefined // not for this platform
      renameSync(folder, home)
    } catch {
      // Another process was faster.
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  const path = join(home, 'chromium')
  return existsSync(path) ? path : undefined
}

function packageVersion(): string | undefined {
  try {
    const path = join(import.meta.dir, '../../node_modules/@sparticuz/chromium/package.json')
    return JSON.parse(readFileSync(path, 'utf8')).version
  } catch {
    return undefined
  }
}
