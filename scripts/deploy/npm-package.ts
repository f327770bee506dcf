/** Makes the npm package `privatemode-proxy`: the bundled proxy, a launcher, and the pinned runtime as its one dependency. */
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BuildFacts } from './build-facts.ts'
import { repository, run } from './locked-package.ts'

/** Writes the package to `folder` and packs it into `outFolder`; returns the path of the archive. */
export function packProxy(folder: string, outFolder: string, facts: BuildFacts): string {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  mkdirSync(outFolder, { recursive: true })
  run(
    [
      process.execPath,
      ...['build', '--target=bun', join('apps', 'proxy', 'src', 'main.ts')],
      ...['--outfile', join(folder, 'proxy.js')],
    ],
    { cwd: repository },
  )
  copyFileSync(
    join(repository, 'deploy', 'npm', 'privatemode-proxy.mjs'),
    join(folder, 'privatemode-proxy.mjs'),
  )
  copyFileSync(join(repository, 'scripts', 'launch.mjs'), join(folder, 'launch.mjs'))
  chmodSync(join(folder, 'privatemode-proxy.mjs'), 0o755)
  copyFileSync(join(repository, 'LICENSE'), join(folder, 'LICENSE'))
  writeFileSync(join(folder, 'README.md'), readme)
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifestOf(facts), null, 2)}\n`)
  const packed = run(['npm', 'pack', '--silent', '--pack-destination', outFolder], { cwd: folder })
  return join(outFolder, packed.trim())
}

function manifestOf(facts: BuildFacts): object {
  const root = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
    dependencies: { bun: string }
  }
  return {
    name: 'privatemode-proxy',
    version: facts.version,
    description:
      'Verifies the backend, encrypts prompts and decrypts responses for local applications',
    license: 'Apache-2.0',
    type: 'module',
    bin: { 'privatemode-proxy': 'privatemode-proxy.mjs' },
    files: ['privatemode-proxy.mjs', 'launch.mjs', 'proxy.js'],
    engines: { node: '>=20' },
    dependencies: { bun: root.dependencies.bun },
    publishConfig: { access: 'public', provenance: true },
  }
}

const readme = `# privatemode-proxy

A local endpoint for OpenAI and Anthropic clients. It verifies the backend by remote attestation against a manifest,
encrypts prompts for the very machine that was verified, and decrypts the answers.

    npx privatemode-proxy --apiEndpoint api.example:443 --manifestLogKey KEY --apiKey @key.txt

It listens on http://127.0.0.1:8080; \`--help\` lists every flag. Runs on Linux, macOS and Windows (x64 and arm64) with
Node 20 or later as the launcher and Bun, which is installed with it, as the runtime. No install script is needed.
`
