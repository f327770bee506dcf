/** Lists what is in an image as CycloneDX 1.6: the lock file's packages, the runtime, Debian's C library. */
import { type AppTree, closureOf } from './app-tree.ts'
import type { BuildFacts } from './build-facts.ts'
import { listDebianPackages } from './debian-root.ts'
import { packageName } from './dependency-closure.ts'
import { type Lock, type LockEntry, readLock } from './locked-package.ts'
import { type Architecture, formatTime } from './oci/image.ts'

type Component = {
  readonly name: string
  readonly version: string
  readonly [field: string]: unknown
}

export function formatSbom(
  name: string,
  tree: AppTree,
  architecture: Architecture,
  facts: BuildFacts,
): string {
  const lock = readLock()
  const runtime = `node_modules/@oven/bun-linux-${architecture === 'amd64' ? 'x64' : 'aarch64'}`
  const components = [
    ...allPackages(tree, lock).map((path) => npmComponent(path, lock)),
    npmComponent(runtime, lock),
    ...listDebianPackages(architecture).map(
      (entry): Component => ({
        type: 'library',
        name: entry.name,
        version: entry.version,
        purl: `pkg:deb/debian/${entry.name}@${encodeURIComponent(entry.version)}?arch=${architecture}&distro=bookworm`,
        hashes: [{ alg: 'SHA-256', content: entry.sha256 }],
      }),
    ),
  ]
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: formatTime(facts.epochSeconds),
      component: {
        type: 'container',
        'bom-ref': name,
        name,
        version: facts.version,
        properties: [
          { name: 'privatemode:revision', value: facts.revision },
          { name: 'privatemode:architecture', value: architecture },
        ],
      },
    },
    components: components.map((component) => ({
      'bom-ref': component.purl ?? component.name,
      ...component,
    })),
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

/** Also what is bundled into pages. */
function allPackages(tree: AppTree, lock: Lock): string[] {
  const { pagesFolder: folder } = tree
  const bundled =
    folder === undefined ? [] : closureOf({ folder, leaveOut: [], leaveOutFolders: [] }, lock)
  return [...new Set([...closureOf(tree, lock), ...bundled])].sort()
}

function npmComponent(path: string, lock: Lock): Component {
  const entry: LockEntry | undefined = lock.packages[path]
  if (entry === undefined) throw new Error(`package-lock.json has no ${path}`)
  const licenses = entry.license === undefined ? {} : { licenses: [{ expression: entry.license }] }
  if (!path.includes('node_modules/')) {
    return { type: 'library', name: path, version: entry.version, ...licenses }
  }
  const name = packageName(path)
  return {
    type: 'library',
    name,
    version: entry.version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${entry.version}`,
    ...licenses,
    ...hashesOf(entry),
  }
}

/** npm's integrity is base64, CycloneDX wants hex. */
function hashesOf({ integrity }: LockEntry) {
  const base64 = /^sha512-([A-Za-z0-9+/=]+)$/.exec(integrity ?? '')?.[1]
  if (base64 === undefined) return {}
  return { hashes: [{ alg: 'SHA-512', content: Buffer.from(base64, 'base64').toString('hex') }] }
}
