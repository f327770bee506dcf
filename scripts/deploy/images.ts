/** The images: what is in each, and how it starts. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildPortal } from '@privatemode/portal'
import { type AppTree, appTreeEntries } from './app-tree.ts'
import type { BuildFacts } from './build-facts.ts'
import { compileProxy } from './compile-proxy.ts'
import { debianRoot, userId } from './debian-root.ts'
import { lockedFolder } from './locked-package.ts'
import {
  type Architecture,
  formatTime,
  type Image,
  type ImageContent,
  makeImage,
} from './oci/image.ts'
import type { TarEntry } from './oci/tar.ts'
import { formatSbom } from './sbom.ts'
import { findTarget } from './targets.ts'

export const architectures = ['amd64', 'arm64'] as const satisfies readonly Architecture[]

export type ImageName =
  | 'privatemode-proxy'
  | 'privatemode-gateway'
  | 'privatemode-worker'
  | 'privatemode-verify'

/** The gateway is blind, so its image lacks even the code that seals, opens and verifies. */
const gateway: AppTree = {
  folder: 'apps/gateway',
  leaveOut: [
    '@privatemode/attestation',
    ...['@noble/ciphers', '@noble/curves', '@noble/hashes', '@noble/post-quantum'],
  ],
  leaveOutFolders: ['packages/protocol/src/envelope'],
  // Visitors' browsers verify and seal with these; the gateway serves them as files.
  pagesFolder: 'apps/portal',
}

/** The worker of the image drives a model server; the embedded engine and its native code are left out. */
const worker: AppTree = { folder: 'apps/worker', leaveOut: ['node-llama-cpp'], leaveOutFolders: [] }

export const imageTrees: { readonly [name in ImageName]: AppTree } = {
  'privatemode-proxy': { folder: 'apps/proxy', leaveOut: [], leaveOutFolders: [] },
  'privatemode-gateway': gateway,
  'privatemode-worker': worker,
  'privatemode-verify': { folder: 'apps/verify', leaveOut: [], leaveOutFolders: [] },
}

const purposes: { readonly [name in ImageName]: string } = {
  'privatemode-proxy': 'Verifies the backend, encrypts prompts and decrypts responses',
  'privatemode-gateway': 'The blind edge: keys, limits, metering, routing of sealed requests',
  'privatemode-worker': 'Attests, opens sealed requests and drives a model server',
  'privatemode-verify': 'Commands for auditors and operators: evidence, manifests, logs, bundles',
}

export async function buildImage(
  name: ImageName,
  architecture: Architecture,
  facts: BuildFacts,
): Promise<Image> {
  const sbom: TarEntry = {
    kind: 'file',
    path: `usr/share/privatemode/${name}.cdx.json`,
    mode: 0o644,
    content: new TextEncoder().encode(formatSbom(name, imageTrees[name], architecture, facts)),
  }
  const program =
    name === 'privatemode-proxy' ? proxy(architecture) : fromSources(name, architecture)
  const content: ImageContent = {
    architecture,
    workingDir: '/workspace',
    user: `${userId}:${userId}`,
    labels: labelsOf(name, facts),
    ...program,
    layers: [await debianRoot(architecture), ...program.layers, ...(await pagesOf(name)), [sbom]],
  }
  return makeImage(content, facts.epochSeconds)
}

type ProgramPart = Pick<ImageContent, 'layers' | 'entrypoint' | 'env' | 'port'>

/** One file, so that it can be extracted from the image and used on its own. */
function proxy(architecture: Architecture): ProgramPart {
  const work = mkdtempSync(join(tmpdir(), 'privatemode-image-'))
  try {
    const path = join(work, 'privatemode-proxy')
    compileProxy(findTarget(`linux-${architecture}`), path)
    return {
      layers: [[executable('usr/bin/privatemode-proxy', path)]],
      entrypoint: ['/usr/bin/privatemode-proxy'],
      // On its own the program stays on loopback; a published port of a container needs all interfaces.
      env: { PRIVATEMODE_PROXY_LISTEN_ADDRESS: '0.0.0.0' },
      port: 8080,
    }
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

type SourceImage = Exclude<ImageName, 'privatemode-proxy'>

/** Where a program listens in a container; the commands listen nowhere. */
const services: {
  readonly [name in SourceImage]: Partial<Pick<ImageContent, 'env' | 'port'>>
} = {
  'privatemode-gateway': { env: { PRIVATEMODE_GATEWAY_HOST: '0.0.0.0' }, port: 8090 },
  'privatemode-worker': { env: { PRIVATEMODE_WORKER_HOST: '0.0.0.0' }, port: 8095 },
  'privatemode-verify': {},
}

function fromSources(name: SourceImage, architecture: Architecture): ProgramPart {
  const { folder } = imageTrees[name]
  const runtime = architecture === 'amd64' ? '@oven/bun-linux-x64' : '@oven/bun-linux-aarch64'
  return {
    layers: [
      [executable('usr/bin/bun', join(lockedFolder(runtime), 'bin', 'bun'))],
      appTreeEntries(imageTrees[name]),
    ],
    entrypoint: ['/usr/bin/bun', '--no-install', '--no-env-file', `/app/${folder}/src/main.ts`],
    ...services[name],
    env: {
      ...services[name].env,
      BUN_RUNTIME_TRANSPILER_CACHE_PATH: '0', // the root file system is read-only
    },
  }
}

/** The portal, without `portal.json`, which the operator provides. */
async function pagesOf(name: ImageName): Promise<TarEntry[][]> {
  if (imageTrees[name].pagesFolder === undefined) return []
  const work = mkdtempSync(join(tmpdir(), 'privatemode-pages-'))
  try {
    const { folder, files } = await buildPortal(work)
    return [
      files.map((file) => ({
        kind: 'file',
        path: `usr/share/privatemode/portal/${file.name}`,
        mode: 0o644,
        content: new Uint8Array(readFileSync(join(folder, file.name))),
      })),
    ]
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

function executable(path: string, from: string): TarEntry {
  return { kind: 'file', path, mode: 0o755, content: new Uint8Array(readFileSync(from)) }
}

function labelsOf(name: ImageName, facts: BuildFacts): Record<string, string> {
  return {
    'org.opencontainers.image.created': formatTime(facts.epochSeconds),
    'org.opencontainers.image.description': purposes[name],
    'org.opencontainers.image.licenses': 'Apache-2.0',
    'org.opencontainers.image.revision': facts.revision,
    'org.opencontainers.image.title': name,
    'org.opencontainers.image.version': facts.version,
  }
}
