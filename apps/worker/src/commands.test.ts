import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseSoftwareIdentity } from '@privatemode/attestation/software/producer'
import { startScriptedServer } from '../../../packages/inference/src/testing/scripted-server.ts'
import { thrown } from '../../../test/rejection.ts'
import { runCommand } from './commands.ts'
import { measureSources } from './evidence/software-measurement.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-worker-'))
const server = startScriptedServer({ models: ['org/chat-1'] })
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

const command = (...args: string[]) => runCommand(args, {}, new Date())
const engine = ['--engineUrl', server.url]

test('an identity is readable by its owner only, and an existing file is not replaced', async () => {
  const path = join(folder, 'identity.json')
  expect(await command('identity', '--out', path)).toMatch(/^[0-9a-f]{64}\n$/)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const written = readFileSync(path)
  expect((await parseSoftwareIdentity(written)).certificates).toHaveLength(2)
  expect(await thrown(command('identity', '--out', path))).toThrow('is not replaced')
  expect(readFileSync(path)).toEqual(written)
  const nowhere = join(folder, 'missing', 'identity.json')
  expect(await thrown(command('identity', '--out', nowhere))).toThrow('cannot be written')
  expect(await thrown(command('identity'))).toThrow('--out is missing')
})

test('reference values name the root of the identity, this software and the models', async () => {
  const path = join(folder, 'reference-identity.json')
  const root = (await command('identity', '--out', path))?.trim() ?? ''
  const reference = JSON.parse(
    (await command('reference', ...engine, '--softwareIdentity', path)) ?? '',
  )
  const measurement = Buffer.from(measureSources()).toString('hex')
  expect(reference).toMatchObject({
    evidence: 'software',
    worker: [{ kind: 'software', measurements: [measurement], root, minimum_tcb: 1 }],
    models: [{ id: 'org/chat-1', digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) }],
  })
  const described = JSON.parse((await command('describe', ...engine)) ?? '')
  expect(described).toMatchObject({ measurement, models: [{ id: 'org/chat-1' }] })
})

test('reference values require a readable software identity', async () => {
  expect(await thrown(command('reference', ...engine))).toThrow('a program inside it cannot vouch')
  const path = join(folder, 'broken.json')
  const broken = () => command('reference', ...engine, '--softwareIdentity', path)
  expect(await thrown(broken())).toThrow('is not readable (ENOENT)')
  writeFileSync(path, '{}')
  expect(await thrown(broken())).toThrow('is unusable')
})

test.each([
  ['describe', 'prints the models and the software measurement that a manifest must list'],
  ['reference', 'prints reference values for `manifest build`; needs --softwareIdentity'],
])('help of %s says what it prints, and lists the flags it takes', async (name, purpose) => {
  const help = await command(name, '--help')
  const title = `privatemode-worker ${name} 0.1.0\n${purpose}; takes the worker's flags below\n`
  expect(help).toStartWith(title)
  expect(help).toContain('\n  --engineUrl TEXT\n')
  expect(help).not.toContain('Commands')
})

test('flags alone are not a command, and an unknown command is refused', async () => {
  expect(await command()).toBeUndefined()
  expect(await command('--port', '1')).toBeUndefined()
  expect(await thrown(command('destribe'))).toThrow('there is no command "destribe"; see --help')
})
