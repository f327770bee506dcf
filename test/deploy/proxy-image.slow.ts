/** The proxy's image: unpacked, run in a bare root as its own user, serving a sealed request. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, unlessMissing } from '@privatemode/service/testing'
import { type System, startSystem } from '../e2e/system.ts'
import { systemArgs } from '../proxy/proxy-process.ts'
import { startProgram } from './running-program.ts'
import { askThrough, storyEngine } from './sealed-question.ts'
import { archivePath, bareCommand, cannotRunBare, unpackImage, version } from './unpacked-image.ts'

const image = unpackImage('privatemode-proxy', 'amd64')
const workspace = mkdtempSync(join(tmpdir(), 'privatemode-workspace-'))
chmodSync(workspace, 0o1777)
let system: System

beforeAll(async () => {
  system = await startSystem({ engines: [storyEngine()] })
})
afterAll(async () => {
  await system.stop()
  image.remove()
  rmSync(workspace, { recursive: true, force: true })
})

unlessMissing(cannotRunBare).describe('the image of the proxy', () => {
  test('runs in a bare, read-only root as its own user and says its version', async () => {
    const program = startProgram(bareCommand(image, { workspace, args: ['--version'] }))
    await program.until(new RegExp(`privatemode-proxy ${version}`))
    await program.stop()
  })

  test('serves a sealed request', async () => {
    const port = freePort()
    const args = [...inWorkspace(systemArgs(system)), '--port', `${port}`]
    // Only in this test: machines that run tests should not offer a proxy to their network.
    const loopback = ['--listenAddress', '127.0.0.1']
    const program = startProgram(bareCommand(image, { workspace, args: [...args, ...loopback] }))
    try {
      await program.until(/msg=ready/)
      await askThrough(`http://127.0.0.1:${port}`, system.apiKey)
      expect(readFileSync(join(workspace, 'manifests/log.txt'), 'utf8')).toMatch(/\.json/)
    } finally {
      expect(await program.stop()).toBe(0)
    }
  })

  test('listens on all interfaces, so that a published port works', async () => {
    const args = inWorkspace(systemArgs(system))
    const program = startProgram(bareCommand(image, { workspace, args, alone: true }))
    await program.until(/msg=listening url=http:\/\/0\.0\.0\.0:8080/)
    await program.stop()
  })

  test('cannot write anywhere but in its workspace', async () => {
    const args = [...inWorkspace(systemArgs(system)), '--workspace', '/usr']
    const program = startProgram(bareCommand(image, { workspace, args, alone: true }))
    await program.until(/the workspace \/usr cannot be written/)
    expect(await program.exited).toBe(2)
  })
})

test('the image runs as a number that is not root, with labels and an SBOM', () => {
  expect(image.config).toMatchObject({
    User: '65532:65532',
    WorkingDir: '/workspace',
    Entrypoint: ['/usr/bin/privatemode-proxy'],
    Env: ['PRIVATEMODE_PROXY_LISTEN_ADDRESS=0.0.0.0'],
  })
  expect(image.config.Labels['org.opencontainers.image.version']).toBe(version)
  const sbom = JSON.parse(
    readFileSync(join(image.root, 'usr/share/privatemode/privatemode-proxy.cdx.json'), 'utf8'),
  )
  expect(sbom.bomFormat).toBe('CycloneDX')
})

test('nothing in the image belongs to the program’s user or can be changed by it', () => {
  const { stdout } = Bun.spawnSync([
    ...['find', image.root, '-perm', '/022', '-not', '-type', 'l'],
    ...['-not', '-name', 'tmp', '-not', '-name', 'workspace'],
  ])
  expect(stdout.toString()).toBe('')
})

test('the binary in the image is the one that is published by itself', () => {
  const published = join(archivePath('x'), '../../bin/privatemode-proxy-linux-amd64')
  const inside = join(image.root, 'usr/bin/privatemode-proxy')
  expect(statSync(inside).size).toBe(statSync(published).size)
  expect(readFileSync(inside).equals(readFileSync(published))).toBe(true)
})

const noSkopeo = Bun.which('skopeo') === null ? 'skopeo is not installed' : undefined
unlessMissing(noSkopeo).test('skopeo reads the archive for both architectures', () => {
  for (const architecture of ['amd64', 'arm64']) {
    const { exitCode, stdout, stderr } = Bun.spawnSync([
      ...['skopeo', 'inspect', '--override-arch', architecture, '--override-os', 'linux'],
      `oci-archive:${archivePath('privatemode-proxy')}:privatemode-proxy:${version}`,
    ])
    expect(stderr.toString()).toBe('')
    expect(exitCode).toBe(0)
    expect(JSON.parse(stdout.toString())).toMatchObject({ Architecture: architecture, Os: 'linux' })
  }
})

/** The manifest's file lies in the system's folder, which the bare root does not have. */
function inWorkspace(args: string[]): string[] {
  const at = args.indexOf('--manifestPath') + 1
  Bun.spawnSync(['cp', args[at] ?? '', join(workspace, 'manifest.json')])
  return args.with(at, '/workspace/manifest.json')
}
