/** A real Chromium: the system's, or the one from npm where there is none. */
import { existsSync } from 'node:fs'
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

/** Where it is; undefined where there is none. */
export async function findChromium(): Promise<string | undefined> {
  return paths.find(existsSync) ?? (await unpackChromium())
}

/** Undefined where neither starts; tests then skip, visibly. */
export async function launchChromium(): Promise<Browser | undefined> {
  const executablePath = await findChromium()
  if (executablePath === undefined) return undefined
  return chromium.launch({ executablePath, args: quiet }).catch(() => undefined)
}

async function unpackChromium(): Promise<string | undefined> {
  try {
    const { default: packed } = await import('@sparticuz/chromium')
    return await packed.executablePath()
  } catch {
    return undefined // not for this platform
  }
}
