/** Each image by itself under an engine: its name, its user, no rights, a root that cannot be written, its program. */
import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { userId } from '../../scripts/deploy/debian-root.ts'
import { repository, run } from '../../scripts/deploy/locked-package.ts'
import { type Parts, untilReady } from '../confined/parts.ts'
import { must, type Rows } from '../confined/rows.ts'
import { archivePath, version } from '../deploy/unpacked-image.ts'
import { codeBlocks } from '../documents/code-blocks.ts'
import type { Engine } from './engine.ts'

const names = ['proxy', 'gateway', 'worker', 'verify'].map((part) => `privatemode-${part}`)
const hardened = ['--read-only', '--cap-drop=ALL', '--security-opt=no-new-privileges']

export async function tryImages(engine: Engine, rows: Rows, parts: Parts): Promise<void> {
  const claim = (text: string, run: () => Promise<string>) =>
    rows.try(`${engine.name}: ${text}`, run)
  await claim('archives load one after the other, each under its own name', async () => {
    for (const name of names) await engine.run('load', '--input', archivePath(name))
    const listed = await engine.run('images', '--format', '{{.Repository}}:{{.Tag}}')
    const missing = names.filter(
      (name) => !new RegExp(`(^|/)${name}:${version}$`, 'm').test(listed),
    )
    must(missing.length === 0, `not there: ${missing.join(', ')}; there: ${listed}`)
    return names.map((name) => `${name}:${version}`).join(', ')
  })
  await claim('every program runs without rights on a root that cannot be written', async () => {
    for (const name of names) {
      const flag = name === 'privatemode-verify' ? '--help' : '--version'
      await engine.run('run', '--rm', ...hardened, '--network=none', image(name), flag)
    }
    const user = await engine.run(
      'image',
      'inspect',
      '--format',
      '{{.Config.User}}',
      image(names[0] ?? ''),
    )
    must(user === `${userId}:${userId}`, `runs as ${user}`)
    return `user ${user}, no capabilities, no new privileges`
  })
  await claim('the binary taken out of the image runs by itself', async () => {
    const folder = parts.folder(`${engine.name}-binary`)
    const line = documented(/`(podman cp [^`]+)`/)
    const script = line.replaceAll('podman', engine.name).replace('IMAGE', image(names[0] ?? ''))
    await engine.shell(script, folder)
    // The page makes a container that is never started.
    await engine.run('container', 'prune', '--force')
    const said = await engine.shell('./privatemode-proxy --version', folder)
    must(said.includes(version), said)
    return said
  })
  await claim('the documented command publishes on loopback alone', () =>
    runDocumented(engine, parts, true),
  )
  await claim('a workspace of somebody else is refused in words that say whose it must be', () =>
    runDocumented(engine, parts, false),
  )
}

const image = (name: string) => `${name}:${version}`

function documented(pattern: RegExp): string {
  const found = pattern.exec(readFileSync(join(repository, 'docs/install.md'), 'utf8'))?.[1]
  if (found === undefined) throw new Error(`docs/install.md has no ${pattern}`)
  return found
}

/** `podman run` of docs/install.md, with the local name of the image and without a service behind it. */
async function runDocumented(engine: Engine, parts: Parts, owned: boolean): Promise<string> {
  const text = readFileSync(join(repository, 'docs/install.md'), 'utf8')
  const block = codeBlocks(text).find((one) => one.heading === 'Container image')?.text ?? ''
  const [, command = ''] = /^podman (run [\s\S]*)$/m.exec(block) ?? []
  must(command.includes('127.0.0.1:8080:8080'), `the page does not publish on loopback: ${command}`)
  const folder = parts.folder(`${engine.name}-${owned ? 'own' : 'foreign'}`)
  const workspace = join(folder, 'workspace')
  mkdirSync(workspace, { mode: 0o755 })
  writeFileSync(join(workspace, 'key.txt'), 'pm_key_of_nobody')
  if (owned) chownSync(workspace, userId, userId)
  const name = `documented-${engine.name}`
  const script = command
    .replace(/^run/, `${engine.name} run --detach --name ${name}`)
    .replace('REGISTRY/', '')
    .replace('--manifestLogKey KEY', `--manifestLogKey ${makeLogKey(folder)}`)
  try {
    await engine.shell(script, folder)
    if (!owned) {
      await untilReady('its end', async () => !(await isRunning(engine, name)), 60_000)
      const { out, errors } = await engine.try('logs', name)
      const said = `${out}${errors}`
      must(/65532/.test(said), `it does not say who must own it: ${said}`)
      return said.trim().split('\n').at(-1) ?? ''
    }
    await untilReady('its answer', async () => (await asks('127.0.0.1')) !== undefined, 60_000)
    must(
      (await asks('192.0.2.2')) === undefined,
      'it answers on another address of this machine, too',
    )
    return `127.0.0.1:8080 answers ${await asks('127.0.0.1')}, 192.0.2.2:8080 does not`
  } catch (error) {
    const { out, errors } = await engine.try('logs', name)
    throw new Error(`${(error as Error).message}\n${out}${errors}`.slice(0, 1500))
  } finally {
    await engine.try('rm', '--force', name)
  }
}

/** A key that a log could have. */
function makeLogKey(folder: string): string {
  const main = join(repository, 'apps/verify/src/main.ts')
  const flags = ['--name', 'log.example', '--out', join(folder, 'log.key')]
  return run([process.execPath, main, 'manifest', 'key', ...flags]).trim()
}

async function isRunning(engine: Engine, name: string): Promise<boolean> {
  return (await engine.run('inspect', '--format', '{{.State.Running}}', name)) === 'true'
}

async function asks(host: string): Promise<number | undefined> {
  const url = `http://${host}:8080/health`
  return (await fetch(url, { signal: AbortSignal.timeout(5000) }).catch(() => undefined))?.status
}
