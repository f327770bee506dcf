/** Builds the pages into a directory of static files: hashed names, one document, the licences. */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { formatDocument } from './document.ts'
import { formatLicences } from './licences.ts'
import { PortalError } from './portal-error.ts'

const repository = resolve(dirname(fileURLToPath(import.meta.url)), '../../..')
const page = join(repository, 'apps/portal/src/page')
const sources = ['packages/protocol', 'packages/attestation', 'packages/sdk', 'apps/portal']
const stampName = 'build.txt'

export type BuiltPortal = {
  readonly folder: string
  /** Files of this build: relative names and sizes in bytes. */
  readonly files: readonly { readonly name: string; readonly bytes: number }[]
}

/** Builds unless the directory already contains a build of these sources. */
export async function ensurePortal(folder: string): Promise<void> {
  const stamp = digestSources()
  if (readStamp(folder) !== stamp) await buildPortal(folder)
}

export async function buildPortal(folder: string): Promise<BuiltPortal> {
  const built = await Bun.build({
    entrypoints: [join(page, 'main.tsx'), join(page, 'style/main.css')],
    root: page,
    target: 'browser',
    minify: true,
    splitting: true,
    metafile: true,
    naming: { entry: '[name]-[hash].[ext]', chunk: 'part-[hash].[ext]' },
    define: { 'process.env.NODE_ENV': '"production"' },
    throw: false,
  })
  if (!built.success) {
    throw new PortalError('build_failed', built.logs.map((line) => line.message).join('; '))
  }
  // Files left by an earlier build would be served along with this one.
  rmSync(join(folder, 'assets'), { recursive: true, force: true })
  mkdirSync(join(folder, 'assets'), { recursive: true })
  const files: { name: string; bytes: number }[] = []
  const write = (name: string, content: string | Uint8Array) => {
    writeFileSync(join(folder, name), content)
    // Compressed once here instead of for every request; the gateway sends it to browsers that accept it.
    writeFileSync(join(folder, `${name}.gz`), gzipSync(content, { level: 9 }))
    files.push({ name, bytes: Buffer.byteLength(content) })
  }
  const assets = new Map<string, string>()
  for (const output of built.outputs) {
    const name = `assets/${output.path.replace(/^.*\//, '')}`
    write(name, new Uint8Array(await output.arrayBuffer()))
    if (output.kind !== 'chunk') assets.set(name.slice(name.lastIndexOf('.') + 1), name)
  }
  const mark = readFileSync(join(page, 'mark.svg'))
  const markName = `assets/mark-${createHash('sha256').update(mark).digest('hex').slice(0, 8)}.svg`
  write(markName, mark)
  write('index.html', formatDocument(need(assets, 'js'), need(assets, 'css'), markName))
  const inputs = Object.keys(built.metafile?.inputs ?? {})
  write('licences.txt', formatLicences(repository, inputs))
  // Last, so that an interrupted build is repeated.
  writeFileSync(join(folder, stampName), digestSources())
  return { folder, files }
}

function need(assets: ReadonlyMap<string, string>, extension: string): string {
  const name = assets.get(extension)
  if (name === undefined) throw new PortalError('build_failed', `no ${extension} file was built`)
  return name
}

function readStamp(folder: string): string | undefined {
  try {
    return readFileSync(join(folder, stampName), 'utf8')
  } catch {
    return undefined // never built here
  }
}

/** Names and contents of everything that can end up in the pages. */
function digestSources(): string {
  const files = [
    join(repository, 'package-lock.json'),
    ...sources.flatMap((folder) => filesBelow(join(repository, folder, 'src'))),
  ]
  const hash = createHash('sha256')
  for (const file of files.sort()) {
    const content = createHash('sha256').update(readFileSync(file)).digest('hex')
    hash.update(`${relative(repository, file)} ${content}\n`)
  }
  return hash.digest('hex')
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(tsx?|css|svg)$/.test(name) && !name.includes('.test.'))
    .map((name) => join(folder, name))
}
