/** Settings of the suites: paths of existing checkouts. */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

export type SuiteSettings = {
  readonly openai: string | undefined
  readonly anthropic: string | undefined
  readonly llama: string | undefined
  /** The Python that has what llama.cpp's tests require. */
  readonly python: string
  /** Prism's program and OpenAI's description of its interface. */
  readonly prism: { readonly program: string; readonly description: string } | undefined
  /** Prints the reason of every failure. */
  readonly verbose: boolean
}

export const usage = `npm run task -- test:suites [--openai DIR] [--anthropic DIR] [--llama DIR] [--python FILE]
                       [--prism DIR --openapi FILE] [--verbose]

Runs suites that others wrote against a running stack. Each DIR is a checkout with its packages installed;
nothing is fetched. See docs/compatibility-suites.md.
  --openai DIR     github.com/openai/openai-node
  --anthropic DIR  github.com/anthropics/anthropic-sdk-typescript
  --llama DIR      github.com/ggml-org/llama.cpp (tools/server/tests is enough)
  --python FILE    Python with the requirements of llama.cpp's tests (default: python3)
  --prism DIR      a folder in which npm has installed @stoplight/prism-cli
  --openapi FILE   openapi.yaml of github.com/openai/openai-openapi
  --verbose        print the reason of every failure`

export function readSettings(args: string[]): SuiteSettings | undefined {
  const path = { type: 'string' } as const
  const { values } = parseArgs({
    args,
    options: {
      ...{ openai: path, anthropic: path, llama: path, python: path, prism: path, openapi: path },
      ...{ verbose: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    },
  })
  const { openai, anthropic, llama, python = 'python3', verbose = false, help = false } = values
  const { prism, openapi } = values
  const asked = [openai, anthropic, llama, prism].filter((value) => value !== undefined)
  if (help || asked.length === 0 || (prism === undefined) !== (openapi === undefined)) {
    return undefined
  }
  return {
    openai: checkout(openai, 'node_modules/.bin/jest'),
    anthropic: checkout(anthropic, 'node_modules/.bin/jest'),
    llama: checkout(llama, 'tools/server/tests/utils.py'),
    python,
    prism: readPrism(prism, openapi),
    verbose,
  }
}

function readPrism(folder: string | undefined, description = ''): SuiteSettings['prism'] {
  const found = checkout(folder, 'node_modules/.bin/prism')
  if (found === undefined) return undefined
  return { program: join(found, 'node_modules/.bin/prism'), description: resolve(description) }
}

function checkout(path: string | undefined, expected: string): string | undefined {
  if (path === undefined || existsSync(join(path, expected))) return path && resolve(path)
  throw new Error(`${path} has no ${expected}: it is another checkout, or its packages are missing`)
}
