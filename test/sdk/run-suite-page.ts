/** Runs the suite in a page, and posts the outcomes to the page's own server. */
import { browserBadgeCases } from './browser-badge.ts'
import { browserStorageCases } from './browser-storage.ts'
import { runCases, type SuiteConfig } from './case.ts'
import { libraryClientCases } from './library-clients.ts'
import { officialClientCases } from './official-clients.ts'
import { cases } from './suite.ts'

const post = (body: unknown) => fetch('/outcomes', { method: 'POST', body: JSON.stringify(body) })

try {
  const config = (await (await fetch('/config')).json()) as SuiteConfig
  const clients = [...officialClientCases, ...libraryClientCases]
  const browsers = [...browserStorageCases, ...browserBadgeCases]
  await post(await runCases([...cases, ...clients, ...browsers], config))
} catch (error) {
  await post([{ name: 'the page', failure: String(error) }])
}
