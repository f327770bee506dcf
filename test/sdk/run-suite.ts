/** Runs the suite in whatever runtime starts this, and prints one line of JSON with the outcomes. */
import { runCases, type SuiteConfig } from './case.ts'
import { libraryClientCases } from './library-clients.ts'
import { officialClientCases } from './official-clients.ts'
import { cases } from './suite.ts'

const config: SuiteConfig = JSON.parse(process.env.SUITE_CONFIG ?? '{}')
const all = [...cases, ...officialClientCases, ...libraryClientCases]
const outcomes = await runCases(all, config)
console.log(`\n${JSON.stringify({ outcomes })}`)
process.exit(0)
