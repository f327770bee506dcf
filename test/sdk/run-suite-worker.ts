/** The suite as a worker at the edge: each request runs all of it and answers with the outcomes. */
import { runCases, type SuiteConfig } from './case.ts'
import { libraryClientCases } from './library-clients.ts'
import { officialClientCases } from './official-clients.ts'
import { cases } from './suite.ts'

// biome-ignore lint/style/noDefaultExport: the format asks for it
export default {
  async fetch(_request: Request, env: { readonly SUITE_CONFIG: string }): Promise<Response> {
    const config: SuiteConfig = JSON.parse(env.SUITE_CONFIG)
    const all = [...cases, ...officialClientCases, ...libraryClientCases]
    return Response.json(await runCases(all, config))
  },
}
