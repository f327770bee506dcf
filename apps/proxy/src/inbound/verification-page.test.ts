import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { formatPage, ownOrigin, type PageFacts, pageHeaders } from './verification-page.ts'

const facts: PageFacts = {
  version: '1',
  backend: 'https://api.test',
  quorum: 0,
  origin: 'http://127.0.0.1:8080',
  portalUrl: 'https://api.test',
  now: new Date('2026-01-01T00:30:00Z'),
  readiness: {
    ready: true,
    reason: 'backend verified',
    manifest: 'sha256:aa',
    verified_workers: 1,
    log_age_seconds: 16_200,
    usable_until: '2026-01-03T20:00:00.000Z',
  },
  verification: {
    manifest: {
      digest: 'sha256:aa',
      serial: 3,
      issued_at: '2026-01-01T00:00:00.000Z',
      expires_at: '2026-04-01T00:00:00.000Z',
      log_signed_at: '2025-12-31T20:00:00.000Z',
      usable_until: '2026-01-03T20:00:00.000Z',
      log_refused: null,
      evidence: 'hardware',
      enforced_since: '2026-01-01T00:10:00.000Z',
    },
    workers: [
      {
        worker_id: '<script>alert(1)</script>',
        hardware: true,
        revocation: 'not checked',
        machine: [
          { kind: 'chip', id: 'c1', listed: true },
          { kind: 'gpu', id: 'g1', listed: false },
        ],
        seal_key_id: 'k1',
        verified_at: '2026-01-01T00:20:00.000Z',
        valid_until: '2026-01-01T01:00:00.000Z',
        models: ['m"1'],
        engine: 'vllm',
        build: 'b',
        checks: [{ id: 'snp/report-signature', result: 'passed', detail: 'a & b' }],
      },
    ],
    refused: [{ worker_id: 'w_2', code: 'debug_enabled', reason: 'debug is on', checks: [] }],
  },
}

test('the page shows which manifest is enforced since when, which checks passed and when sessions end', () => {
  const page = formatPage(facts)
  for (const text of [
    'sha256:aa',
    '2026-01-01 00:10:00 UTC',
    '30 min',
    '2025-12-31 20:00:00 UTC</time> (4 h ago)',
    '2026-01-03 20:00:00 UTC</time>, unless renewed',
    '2026-04-01 00:00:00 UTC',
    'snp/report-signature',
    'debug_enabled',
    '<dt>Revocation</dt><dd>not checked</dd>',
    '<code>c1</code> (listed in the manifest)',
    '<code>g1</code> (any genuine one is accepted)',
  ]) {
    expect(page).toContain(text)
  }
})

test('the page shows the results of prompt cache checks, and nothing if they are disabled', () => {
  const check = {
    model: 'm<1>',
    checked_at: '2026-01-01T00:25:00.000Z',
    verdict: 'shares',
    basis: 'times',
    reason: 'shared where it must not: otherSalt',
    rounds: 16,
    comparisons: [],
  } as const
  const page = formatPage({ ...facts, cacheChecks: [check] })
  expect(page).toContain('m&lt;1&gt;')
  expect(page).toContain('prompts were found again where they must not be')
  expect(page).toContain('times: shared where it must not: otherSalt')
  expect(formatPage({ ...facts, cacheChecks: [] })).toContain('Not checked yet')
  expect(formatPage(facts)).not.toContain('Prompt caches')
})

test('text from a machine cannot become markup', () => {
  const page = formatPage(facts)
  expect(page).not.toContain('<script>')
  expect(page).toContain('&lt;script&gt;')
  expect(page).toContain('m&quot;1')
})

test("the CSP allows the page's own style and script, and nothing else", () => {
  const policy = pageHeaders['content-security-policy'] ?? ''
  const style = /<style>([\s\S]*?)<\/style>/.exec(formatPage(facts))?.[1] ?? ''
  const hash = createHash('sha256').update(style).digest('base64')
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain(`style-src 'sha256-${hash}'`)
  const script = /<script type="module">([\s\S]*?)<\/script>/.exec(formatPage(facts))?.[1] ?? ''
  const scriptHash = createHash('sha256').update(script).digest('base64')
  expect(policy).toContain(`script-src 'sha256-${scriptHash}'; connect-src 'self';`)
})

test('software attestation is called out in plain words', () => {
  const { manifest } = facts.verification
  if (manifest === undefined) throw new Error('no manifest')
  const verification = {
    ...facts.verification,
    manifest: { ...manifest, evidence: 'software' as const },
  }
  expect(formatPage({ ...facts, verification })).toContain('whoever runs them can read prompts')
})

test('a proxy that is not ready shows the cause, escaped', () => {
  const readiness = { ...facts.readiness, ready: false, reason: 'no manifest yet', cause: 'a < b' }
  expect(formatPage({ ...facts, readiness })).toContain('Not ready: no manifest yet. a &lt; b')
})

test('the chain never shows more trust than was verified', () => {
  const page = formatPage(facts)
  for (const link of ['sealing', 'binding', 'manifest', 'log']) {
    expect(page).toContain(`data-link="${link}" data-state="good"`)
  }
  for (const link of ['vendor', 'witnesses', 'source']) {
    expect(page).toContain(`data-link="${link}" data-state="caution"`)
  }
  expect(formatPage({ ...facts, quorum: 2 })).toContain('data-link="witnesses" data-state="good"')
  const verification = { ...facts.verification, workers: [] }
  const refused = formatPage({ ...facts, verification })
  expect(refused).toContain('data-link="vendor" data-state="bad"')
  expect(refused).not.toContain('data-link="sealing" data-state="good"')
})

test("the page's snippets use its own address", () => {
  const page = formatPage({ ...facts, origin: 'https://proxy.example:9000' })
  expect(page).toContain('curl https://proxy.example:9000/v1/chat/completions')
  expect(page).toContain('<a href="https://api.test"')
})

test('an invalid Host header stays out of commands to paste', () => {
  expect(ownOrigin('proxy.example:9000', true, 1)).toBe('https://proxy.example:9000')
  expect(ownOrigin('[::1]:8080', false, 1)).toBe('http://[::1]:8080')
  for (const host of [undefined, 'a b', "x';id", '$(id)', 'a/b', 'a@b']) {
    expect(ownOrigin(host, false, 8080)).toBe('http://127.0.0.1:8080')
  }
})
