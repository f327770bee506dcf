import { describe, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Check } from '@privatemode/attestation'
import { thrown } from '../../../../test/rejection.ts'
import { UsageError } from '../command.ts'
import { argumentsOf, formatVectorTable, vectorCases } from '../testing/vector-cases.ts'
import { evidenceCommand } from './evidence-command.ts'

const repository = new URL('../../../../', import.meta.url)
const vectors = fileURLToPath(new URL('test/vectors', repository))

async function run(args: readonly string[]) {
  const lines: string[] = []
  const exitCode = await evidenceCommand.run(args, {
    out: (text) => lines.push(text),
    error: (text) => lines.push(`error: ${text}`),
  })
  expect(lines).toHaveLength(1)
  expect(lines[0]).not.toContain('\n')
  return { exitCode, verdict: JSON.parse(lines[0] ?? '') }
}

describe('verify evidence', () => {
  test.each(vectorCases.map((one) => [one.file, one.because, one] as const))(
    '%s: %s',
    async (_file, _because, one) => {
      const { exitCode, verdict } = await run(argumentsOf(one, vectors))
      expect({ code: verdict.code, message: verdict.message }).toMatchObject({ code: one.code })
      expect(verdict.authentic).toBe(one.code === null)
      expect(exitCode).toBe(one.code === null ? 0 : 1)
      expect(verdict.checks.length).toBeGreaterThan(0)
      const last = verdict.checks.at(-1)
      expect(last.result === 'failed').toBe(one.code !== null)
      // The claims of a report are shown, whether it is believed or not.
      if (one.code !== 'evidence_malformed')
        expect(Object.keys(verdict.claims).length).toBeGreaterThan(2)
    },
  )

  test('the documentation has the table of these cases', () => {
    const text = readFileSync(new URL('docs/attestation.md', repository), 'utf8')
    expect(text).toContain(formatVectorTable())
  })

  test('the example of the documentation is authentic evidence, with every check run', async () => {
    const text = readFileSync(new URL('docs/attestation.md', repository), 'utf8')
    const [, example = ''] =
      /^npm run -s verify -- evidence (--type snp --file[^`]+)/m.exec(text) ?? []
    const words = example.replaceAll('\\\n', ' ').trim().split(/\s+/)
    const args = words.map((word) => word.replace(/^test\/vectors/, vectors))
    const { exitCode, verdict } = await run(args)
    expect(exitCode).toBe(0)
    const skipped = verdict.checks.filter(({ result }: Check) => result === 'skipped')
    expect(skipped.map(({ id }: Check) => id)).toEqual(['snp/nonce'])
  })

  const phala = vectorCases.find(
    ({ file, code }) => file === 'tdx/phala/tdx_quote' && code === null,
  )!

  test.each(['hex', 'base64', 'base64url', 'pem', 'json', 'colons'])(
    'a quote written as %s gets the same verdict',
    async (form) => {
      const folder = await mkdtemp(join(tmpdir(), 'verify-'))
      try {
        const quote = readFileSync(join(vectors, phala.file))
        const path = join(folder, 'quote')
        writeFileSync(path, writeAs(quote, form))
        const args = argumentsOf(phala, vectors)
        args[args.indexOf('--file') + 1] = path
        expect((await run(args)).exitCode).toBe(0)
      } finally {
        await rm(folder, { recursive: true })
      }
    },
  )

  test('a nonce must be what the report was made for', async () => {
    const args = argumentsOf(phala, vectors)
    const { verdict } = await run(args)
    const { reportData } = verdict.claims
    expect(reportData).toMatch(/^[0-9a-f]{128}$/)
    expect((await run([...args, '--nonce', reportData])).exitCode).toBe(0)
    const other = await run([...args, '--nonce', `00${reportData.slice(2)}`])
    expect(other.verdict).toMatchObject({ authentic: false, code: 'nonce_mismatch' })
    expect(verdict.checks).toContainEqual(
      expect.objectContaining({ id: 'tdx/nonce', result: 'skipped' }),
    )
  })

  test("the nonce in a GPU's file does not replace the requested one", async () => {
    const device = vectorCases.find(({ file }) => file.endsWith('switch_evidence_ls10.json'))!
    const args = argumentsOf(device, vectors)
    const { verdict } = await run(args)
    const results = new Map(verdict.checks.map(({ id, result }: Check) => [id, result]))
    expect(results.get('nvidia/nonce')).toBe('skipped')
    expect(results.get('nvidia/stated-nonce')).toBe('passed')
    expect((await run([...args, '--nonce', verdict.claims.nonce])).exitCode).toBe(0)
    const other = await run([...args, '--nonce', '00'.repeat(32)])
    expect(other.verdict).toMatchObject({ authentic: false, code: 'nonce_mismatch' })
    const folder = await mkdtemp(join(tmpdir(), 'verify-'))
    try {
      const path = join(folder, 'evidence.json')
      const text = readFileSync(join(vectors, device.file), 'utf8')
      writeFileSync(path, text.replace(verdict.claims.nonce, '00'.repeat(32)))
      args[args.indexOf('--file') + 1] = path
      expect((await run(args)).verdict).toMatchObject({ code: 'nonce_mismatch' })
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('a malformed list is refused, even next to a good one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'verify-'))
    try {
      const path = join(folder, 'list')
      for (const garbage of ['', 'garbage', '00', Buffer.from([0x30, 0x82, 1, 2, 3])]) {
        writeFileSync(path, garbage)
        const { verdict } = await run([...argumentsOf(phala, vectors), '--crl', path])
        expect(verdict.authentic).toBe(false)
        expect(verdict.code).toMatch(/^crl_/)
      }
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

function writeAs(bytes: Buffer, form: string): string {
  const base64 = bytes.toString('base64')
  switch (form) {
    case 'hex':
      return `0x${bytes.toString('hex')}\n`
    case 'base64':
      return base64.replace(/.{76}/g, '$&\n')
    case 'base64url':
      return bytes.toString('base64url')
    case 'pem':
      return `-----BEGIN QUOTE-----\n${base64}\n-----END QUOTE-----\n`
    case 'json':
      return JSON.stringify({ version: 1, evidence: [{ quote: base64 }] })
    default:
      return bytes.toString('hex').replace(/..(?=.)/g, '$&:')
  }
}

test.each([
  [[], '--type'],
  [['--type', 'tdx'], '--file'],
  [['--type', 'tdx', '--file', 'no-such-file', '--at', '2026-01-01'], 'cannot read'],
  [['--type', 'sgx', '--file', fileURLToPath(import.meta.url), '--at', '2026-01-01'], '--type sgx'],
  [['--type', 'tdx', '--file', fileURLToPath(import.meta.url), '--at', 'now'], '--at'],
  [['--what'], 'unknown option'],
  [['--at'], 'needs a value'],
  [['--at', '2026-01-01', '--at', '2026-01-02'], 'twice'],
])('%j is reported as a usage error', async (args, message) => {
  const call = evidenceCommand.run(args, { out: () => {}, error: () => {} })
  expect(await thrown(call)).toThrow(UsageError)
  expect(await thrown(evidenceCommand.run(args, { out: () => {}, error: () => {} }))).toThrow(
    message,
  )
})

test('an empty file is malformed evidence, not a crash', async () => {
  const args = ['--file', fileURLToPath(import.meta.url), '--at', '2026-01-01T00:00:00Z']
  for (const type of ['snp', 'tdx', 'nvidia-gpu']) {
    const { exitCode, verdict } = await run(['--type', type, ...args])
    expect(exitCode).toBe(1)
    expect(verdict).toMatchObject({ authentic: false, code: 'evidence_malformed' })
  }
})

test('the documentation explains every refusal code', () => {
  const source = readFileSync(new URL('packages/attestation/src/verdict.ts', repository), 'utf8')
  const codes = [...source.matchAll(/^ {2}\| '([a-z_]+)'$/gm)].map(([, code]) => code ?? '')
  expect(codes.length).toBeGreaterThan(40)
  const text = readFileSync(new URL('docs/attestation.md', repository), 'utf8')
  const documented = [...text.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, code]) => code ?? '')
  expect(documented.toSorted()).toEqual(codes.toSorted())
})
