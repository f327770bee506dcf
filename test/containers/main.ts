/**
 * `npm run task -- test:containers [options]`: our images under real container engines, as the documents say.
 *
 *   --engines LIST  of podman,docker; both unless given
 *   --fast          takes the images in dist/images as they are
 *   --write         writes the table into docs/operations.md
 *
 * Engines, networks and containers run in namespaces and control groups of their own, in one folder, and end with this
 * command. Needs Linux on x86-64, root, podman, docker.io and runc; where something is missing it says what.
 */
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fetchPackage } from '../../scripts/deploy/debian-root.ts'
import { repository, run } from '../../scripts/deploy/locked-package.ts'
import { parseTaskArguments } from '../../scripts/task-arguments.ts'
import { missingNamespaces } from '../confined/missing-namespaces.ts'
import { formatRows, type Row } from '../confined/rows.ts'
import { runInWorkFolder, type Work } from '../confined/work-folder.ts'
import { writeBetween } from '../confined/write-between.ts'
import { composePackage } from './compose-package.ts'
import type { Settings } from './inside-main.ts'
import { makePostgresImage, missingForPostgresImage } from './postgres-image.ts'

const { values } = parseTaskArguments({
  options: {
    engines: { type: 'string', default: 'podman,docker' },
    fast: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})
const engines = values.engines.split(',')

const missing = whatIsMissing()
if (missing.length > 0) {
  console.error('test:containers cannot run here:')
  for (const reason of missing) console.error(`  ${reason}`)
  process.exit(1)
}

await runInWorkFolder('containers', main)

function whatIsMissing(): string[] {
  if (process.platform !== 'linux' || process.arch !== 'x64') return ['it needs Linux on x86-64']
  if (process.getuid?.() !== 0) return ['it needs root, for namespaces and control groups']
  const programs = ['runc', 'ip', 'unshare', 'setpriv', 'dpkg-deb', 'openssl', 'curl']
  if (engines.includes('podman')) programs.push('podman')
  if (engines.includes('docker')) programs.push('docker', 'dockerd', 'containerd', 'iptables')
  const absent = programs.filter((name) => Bun.which(name) === null)
  const postgres = engines.includes('docker') ? missingForPostgresImage() : undefined
  const reasons = [...absent.map((name) => `there is no ${name}`), ...(postgres ? [postgres] : [])]
  return reasons.length > 0 ? reasons : missingNamespaces()
}

async function main({ folder: work, confine }: Work): Promise<number> {
  if (!values.fast || !existsSync(join(repository, 'dist/images')))
    run([process.execPath, 'scripts/build-images.ts'], { cwd: repository })
  const postgres = makePostgresImage(join(work, 'images'), '18')
  const results = join(work, 'rows.json')
  const settings: Settings = { work, engines, postgres: postgres.path, results }
  if (engines.includes('docker')) await unpackCompose(work)
  const ended = await confine([process.execPath, join(import.meta.dir, 'inside-main.ts')], {
    PRIVATEMODE_CONTAINERS: JSON.stringify(settings),
    HOME: join(work, 'home'),
  })
  const rows = existsSync(results) ? (JSON.parse(readFileSync(results, 'utf8')) as Row[]) : []
  if (values.write && rows.length > 0) {
    const date = new Date().toISOString().slice(0, 10)
    writeBetween('containers', `${date}, ${versions()}:\n\n${formatRows(rows)}`)
  }
  return ended
}

/** Where docker's own command looks for `docker compose`. */
async function unpackCompose(work: string): Promise<void> {
  const archive = await fetchPackage(composePackage, 'https://deb.debian.org/debian')
  const plugins = join(work, 'home/.docker/cli-plugins')
  mkdirSync(plugins, { recursive: true })
  run(['dpkg-deb', '--extract', archive, join(work, 'compose')])
  run(['cp', join(work, 'compose/usr/libexec/docker/cli-plugins/docker-compose'), plugins])
}

function versions(): string {
  const said = (...command: string[]) => Bun.spawnSync(command).stdout.toString()
  const version = (text: string) => /(\d+\.\d+[\d.]*)/.exec(text)?.[1] ?? 'unknown'
  const compose = version(composePackage.version)
  return [
    ...(engines.includes('podman') ? [`podman ${version(said('podman', '--version'))}`] : []),
    ...(engines.includes('docker')
      ? [`docker ${version(said('dockerd', '--version'))}, docker compose ${compose}`]
      : []),
    `runc ${version(said('runc', '--version'))}`,
    `Linux ${version(said('uname', '-r'))}`,
  ].join(', ')
}
