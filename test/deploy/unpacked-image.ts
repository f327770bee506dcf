/** Unpacks an image as a container runtime does, and runs its program in a bare root. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { repository, run } from '../../scripts/deploy/locked-package.ts'
import { type Architecture, digestOf } from '../../scripts/deploy/oci/image.ts'

type Config = {
  readonly Entrypoint: string[]
  readonly Env: string[]
  readonly User: string
  readonly WorkingDir: string
  readonly Labels: Record<string, string>
}

export type UnpackedImage = {
  readonly root: string
  readonly config: Config
  /** Digest of the index over all architectures. */
  readonly digest: string
  remove(): void
}

export const version = (
  JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string }
).version

export const archivePath = (name: string) =>
  join(repository, 'dist', 'images', `${name}-${version}.oci.tar`)

/** The digest by which a registry knows the image in an archive: that of its index. */
export function imageDigest(archive: string): string {
  const layout = JSON.parse(run(['tar', '-xOf', archive, 'index.json']))
  return layout.manifests[0].digest
}

/** Every blob is read by its digest and must match it, as a runtime requires. */
export function unpackImage(name: string, architecture: Architecture): UnpackedImage {
  const work = mkdtempSync(join(tmpdir(), 'privatemode-unpack-'))
  run(['tar', '-xf', archivePath(name), '-C', work])
  const blobPath = (digest: string) => join(work, 'blobs', digest.replace(':', '/'))
  const json = (digest: string) => {
    const bytes = new Uint8Array(readFileSync(blobPath(digest)))
    if (digestOf(bytes) !== digest) throw new Error(`the blob ${digest} is another one`)
    return JSON.parse(new TextDecoder().decode(bytes))
  }
  const layout = JSON.parse(readFileSync(join(work, 'index.json'), 'utf8'))
  const digest: string = layout.manifests[0].digest
  const chosen = json(digest).manifests.find(
    (entry: { platform: { architecture: string } }) => entry.platform.architecture === architecture,
  )
  const manifest = json(chosen.digest)
  const { config, rootfs } = json(manifest.config.digest)
  const root = join(work, 'root')
  mkdirSync(root)
  manifest.layers.forEach((layer: { digest: string }, index: number) => {
    const bytes = new Uint8Array(readFileSync(blobPath(layer.digest)))
    if (digestOf(bytes) !== layer.digest) throw new Error('a layer is another one')
    if (digestOf(Bun.gunzipSync(bytes)) !== rootfs.diff_ids[index]) throw new Error('another layer')
    run(['tar', '-xpzf', blobPath(layer.digest), '-C', root])
  })
  return { root, config, digest, remove: () => rmSync(work, { recursive: true, force: true }) }
}

/** Whether this machine lets us create such a root: mounts in a separate namespace, another root. */
const canRunBare =
  process.platform === 'linux' &&
  process.getuid?.() === 0 &&
  Bun.spawnSync(['unshare', '--mount', 'true']).exitCode === 0
export const cannotRunBare = canRunBare ? undefined : 'running images needs root on Linux'

export type BareOptions = {
  /** Mounted at /workspace, the one place that can be written. */
  readonly workspace: string
  readonly args: readonly string[]
  readonly env?: readonly string[]
  /** A separate, empty network. */
  readonly alone?: boolean
}

/**
 * The command that runs the image's program as its own user on a read-only root with nothing but /proc and the
 * workspace mounted. The mounts live in a name space that ends with the process.
 */
export function bareCommand(image: UnpackedImage, options: BareOptions): string[] {
  const { root, config } = image
  const script = [
    'set -e',
    'mount --bind "$1" "$1"',
    'mount --bind "$2" "$1/workspace"',
    'mount --rbind /proc "$1/proc"',
    'mount -o remount,bind,ro "$1"',
    'root=$1; user=$3; group=$4; folder=$5; shift 5',
    'exec unshare --root="$root" --wd="$folder" --setgid="$group" --setuid="$user" -- "$@"',
  ].join('\n')
  return [
    ...['unshare', '--mount', ...(options.alone ? ['--net'] : [])],
    ...['env', '-i', ...config.Env, ...(options.env ?? []), '/bin/sh', '-c', script, 'sh'],
    ...[root, options.workspace, ...config.User.split(':'), config.WorkingDir],
    ...[...config.Entrypoint, ...options.args],
  ]
}
