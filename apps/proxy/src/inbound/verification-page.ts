/**
 * The page at `/`, which shows people what was verified. Rendered on the server; its one script
 * refreshes it.
 */
import { createHash } from 'node:crypto'
import {
  type Check,
  type MachineIdentity,
  revocationWords,
  type Verification,
  type WorkerRefusal,
  type WorkerVerification,
} from '@privatemode/sdk'
import { type ChainLink, describeChain, type LinkState } from '@privatemode/sdk/chain'
import type { CacheCheck } from '../trust/cache-watch.ts'
import type { Readiness } from '../trust/readiness.ts'
import { pageScript } from './verification-script.ts'
import { pageStyle } from './verification-style.ts'

/** Seconds between refreshes of the page. */
const renewSeconds = 15
const script = pageScript.replace('RENEW_MS', String(renewSeconds * 1000))
const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** One style, one script that contacts only this proxy, no frames, nothing from elsewhere. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src ${hashOf(pageStyle)}; script-src ${hashOf(script)}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

export type PageFacts = {
  readonly version: string
  readonly backend: string
  readonly readiness: Readiness
  readonly verification: Verification
  /** Present if prompt caches are checked. */
  readonly cacheChecks?: readonly CacheCheck[] | undefined
  /** The number of witnesses that must have signed the log. */
  readonly quorum: number
  /** Address of this proxy as the reader's browser reached it, such as `http://127.0.0.1:8080`. */
  readonly origin: string
  /** Web pages of the backend's gateway. */
  readonly portalUrl: string
  readonly now: Date
}

/**
 * The origin under which the reader found this proxy. It appears in commands to paste, so only a
 * host is allowed.
 */
export function ownOrigin(host: string | undefined, isTls: boolean, port: number): string {
  const isHost = host !== undefined && /^[\w.-]+(:\d+)?$|^\[[\da-f:]+\](:\d+)?$/i.test(host)
  return `${isTls ? 'https' : 'http'}://${isHost ? host : `127.0.0.1:${port}`}`
}

export function formatPage(facts: PageFacts): string {
  const { verification } = facts
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Privatemode proxy: verification</title>
<style>${pageStyle}</style>
<script type="module">${script}</script>
</head>
<body>
<header><h1>Privatemode proxy</h1>${formatState(facts)}</header>
<main>
${formatChain(facts)}
${formatSnippets(facts)}
${formatManifest(verification, facts.backend, facts.now)}
<section aria-labelledby="workers"><h2 id="workers">Verified machines</h2>
${verification.workers.length === 0 ? '<p>None at the moment.</p>' : verification.workers.map((worker) => formatWorker(worker, facts.now)).join('')}
</section>
${verification.refused.length === 0 ? '' : formatRefusals(verification.refused)}
${facts.cacheChecks === undefined ? '' : formatCacheChecks(facts.cacheChecks)}
</main>
<footer><p>Keys, usage and a playground: <a href="${escapeHtml(facts.portalUrl)}" rel="noreferrer">the portal of this backend</a>.
The same for programs: <a href="/privatemode/v1/verification">/privatemode/v1/verification</a>.
Version ${escapeHtml(facts.version)}. State of ${formatTime(facts.now.toISOString())}; refreshes every ${renewSeconds} seconds.</p></footer>
</body>
</html>
`
}

function formatState({ readiness, verification }: PageFacts): string {
  const software = verification.manifest?.evidence === 'software'
  if (!readiness.ready) {
    const cause = readiness.cause === undefined ? '' : ` ${escapeHtml(readiness.cause)}`
    return `<p class="state bad" role="status">Not ready: ${escapeHtml(readiness.reason)}.${cause}</p>`
  }
  if (readiness.verified_workers === 0) {
    return `<p class="state" role="status">The manifest is verified. Machines are verified with the first request.</p>`
  }
  return software
    ? `<p class="state warn" role="status">Connected to a trial backend. Its machines have no confidential hardware: nothing but the software itself vouches for what they run, so whoever runs them can read prompts.</p>`
    : `<p class="state good" role="status">Verified. Prompts are encrypted for the machines below, and no one in between can read them.</p>`
}

const linkWords: Readonly<Record<LinkState, readonly [string, string]>> = {
  good: ['✓', 'Checked.'],
  caution: ['!', 'Caution.'],
  bad: ['✕', 'Failed.'],
  open: ['–', 'Not reached.'],
}

/** The same diagram as in the portal: who connects to whom, and what was verified about each link. */
function formatChain({ verification, quorum, readiness }: PageFacts): string {
  const [refused] = verification.refused
  const isRefused = verification.workers.length === 0 && refused !== undefined
  const refusal = isRefused
    ? { code: refused.code, sentence: `Refused: ${refused.reason} (${refused.code}).` }
    : readiness.ready || verification.manifest !== undefined
      ? undefined
      : { code: 'log_unreachable', sentence: `Not ready: ${readiness.reason}.` }
  const links = describeChain(verification, { self: 'This proxy', quorum, refusal })
  const prompt = links.filter(({ id }) => ['sealing', 'binding', 'vendor'].includes(id))
  const rules = links.filter((link) => !prompt.includes(link))
  return `<section aria-labelledby="chain"><h2 id="chain">The chain of trust</h2>
${formatTrack('The path of your prompt', prompt)}${formatTrack('The path of the rules', rules)}</section>`
}

function formatTrack(title: string, links: readonly ChainLink[]): string {
  const picture = links.map(
    ({ to, state }) =>
      `<b class="link ${state}"><i>${linkWords[state][0]}</i></b><span>${escapeHtml(to)}</span>`,
  )
  const items = links.map(({ id, from, to, state, sentence }) => {
    const words = `<b>${escapeHtml(from)} → ${escapeHtml(to)}</b> <b class="${state}">${linkWords[state][1]}</b> ${escapeHtml(sentence)}`
    return `<li data-link="${id}" data-state="${state}">${words}</li>`
  })
  return `<h3>${title}</h3><div class="track" aria-hidden="true"><span>${escapeHtml(links[0]?.from ?? '')}</span>${picture.join('')}</div><ul>${items.join('')}</ul>`
}

/** Snippets with this proxy's address. */
function formatSnippets({ origin, verification }: PageFacts): string {
  const model = verification.workers[0]?.models[0] ?? 'MODEL'
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] })
  const quoted = `'${body.replaceAll("'", "'\\''")}'`
  const curl = `curl ${origin}/v1/chat/completions -H 'content-type: application/json' \\\n  -d ${quoted}`
  const python = `client = OpenAI(base_url=${JSON.stringify(`${origin}/v1`)}, api_key="unused")`
  const claude = `ANTHROPIC_BASE_URL=${origin} ANTHROPIC_AUTH_TOKEN=unused ANTHROPIC_MODEL='${model.replaceAll("'", "'\\''")}' claude`
  const snippets = [
    ['curl', curl],
    ['OpenAI, Python', python],
    ['Claude Code', claude],
  ] as const
  const items = snippets.map(
    ([name, text]) =>
      `<h3>${name}</h3><pre tabindex="0" role="region" aria-label="${name}"><code>${escapeHtml(text)}</code></pre>`,
  )
  return `<details><summary>Use this proxy</summary>${items.join('')}</details>`
}

function formatManifest({ manifest }: Verification, backend: string, now: Date): string {
  const rows: [string, string][] = [['Backend', escapeHtml(backend)]]
  if (manifest !== undefined) {
    rows.push(
      ['Manifest', `<code>${escapeHtml(manifest.digest)}</code>`],
      ['Serial', String(manifest.serial)],
      ['Issued', formatTime(manifest.issued_at)],
      ['Expires', manifest.expires_at === null ? 'not specified' : formatTime(manifest.expires_at)],
      ['Log signed', formatLogAge(manifest.log_signed_at, now)],
      [
        'Usable until',
        manifest.usable_until === null
          ? 'no limit'
          : `${formatTime(manifest.usable_until)}, unless renewed`,
      ],
      [
        'Enforced since',
        manifest.enforced_since === null
          ? 'not yet: no machine was verified against it'
          : formatTime(manifest.enforced_since),
      ],
      ['Evidence', manifest.evidence === 'software' ? 'software (trial)' : 'hardware'],
    )
  }
  const body = rows.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join('')
  return `<section aria-labelledby="manifest"><h2 id="manifest">What is enforced</h2><dl>${body}</dl></section>`
}

function formatLogAge(signedAt: string | null, now: Date): string {
  if (signedAt === null) return 'no log: the manifest is managed manually'
  const hours = Math.max(0, Math.floor((now.getTime() - Date.parse(signedAt)) / 3_600_000))
  return `${formatTime(signedAt)} (${hours === 0 ? 'less than an hour' : `${hours} h`} ago)`
}

function formatWorker(worker: WorkerVerification, now: Date): string {
  const minutes = Math.max(0, Math.round((Date.parse(worker.valid_until) - now.getTime()) / 60_000))
  // Workers put `http` in front of the name of a model server that runs beside them.
  const engine = escapeHtml(worker.engine.replace(/^http /, ''))
  const rows: [string, string][] = [
    ['Models', worker.models.map((id) => `<code>${escapeHtml(id)}</code>`).join(', ')],
    ['Hardware', worker.hardware ? 'yes' : 'no, software attestation'],
    ['Revocation', escapeHtml(revocationWords[worker.revocation].replace(/^revocation /, ''))],
    ...worker.machine.map(formatIdentity),
    ['Verified', formatTime(worker.verified_at)],
    ['Session ends', `${formatTime(worker.valid_until)} (${minutes} min)`],
    ['Software', `${engine}, build <code>${escapeHtml(worker.build)}</code>`],
    ['Key', `<code>${escapeHtml(worker.seal_key_id)}</code>`],
  ]
  const body = rows.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join('')
  return `<article><h3>${escapeHtml(worker.worker_id)}</h3><dl>${body}</dl>${formatChecks(worker)}</article>`
}

function formatIdentity({ kind, id, listed }: MachineIdentity): [string, string] {
  const note = listed ? 'listed in the manifest' : 'any genuine one is accepted'
  return [identityNames[kind], `<code>${escapeHtml(id)}</code> (${note})`]
}

const identityNames = { chip: 'Chip', platform: 'Platform', gpu: 'GPU', switch: 'Switch' } as const

function formatRefusals(refused: readonly WorkerRefusal[]): string {
  const items = refused.map(
    (worker) =>
      `<article><h3>${escapeHtml(worker.worker_id)}</h3><p><strong>${escapeHtml(worker.code)}</strong>: ${escapeHtml(worker.reason)}</p>${formatChecks(worker)}</article>`,
  )
  return `<section aria-labelledby="refused"><h2 id="refused">Refused machines</h2>${items.join('')}</section>`
}

const cacheWords: Readonly<Record<CacheCheck['verdict'], readonly [string, string]>> = {
  isolates: ['good', 'Isolated: a prompt is found again under its own salt and under no other.'],
  shares: ['bad', 'Shared: prompts were found again where they must not be.'],
  'caches-nothing': ['', 'Nothing is cached.'],
  'cannot-tell': ['warn', 'Inconclusive: it is not clear whether they are isolated.'],
}

function formatCacheChecks(checks: readonly CacheCheck[]): string {
  const items = checks.map(({ model, verdict, basis, reason, checked_at }) => {
    const [tone, words] = cacheWords[verdict]
    return `<article><h3>${escapeHtml(model)}</h3><p class="state ${tone}">${words}</p><dl><div><dt>Checked</dt><dd>${formatTime(checked_at)}</dd></div><div><dt>Seen in</dt><dd>${escapeHtml(basis)}: ${escapeHtml(reason)}</dd></div></dl></article>`
  })
  const body = items.length === 0 ? '<p>Not checked yet.</p>' : items.join('')
  return `<section aria-labelledby="caches"><h2 id="caches">Prompt caches</h2>${body}</section>`
}

type Checked = { readonly worker_id: string; readonly checks: readonly Check[] }

function formatChecks({ worker_id, checks }: Checked): string {
  if (checks.length === 0) return ''
  const passed = checks.filter(({ result }) => result === 'passed').length
  const rows = checks.map(
    ({ id, result, detail }) =>
      `<tr><td>${escapeHtml(result)}</td><th scope="row">${escapeHtml(id)}</th><td>${escapeHtml(detail)}</td></tr>`,
  )
  const label = `Checks of ${escapeHtml(worker_id)}`
  return `<details><summary>${passed} of ${checks.length} checks passed</summary><div class="scroll" tabindex="0" role="region" aria-label="${label}"><table><thead><tr><th scope="col">Result</th><th scope="col">Check</th><th scope="col">Seen</th></tr></thead><tbody>${rows.join('')}</tbody></table></div></details>`
}

function formatTime(iso: string): string {
  return `<time datetime="${escapeHtml(iso)}">${escapeHtml(iso.replace('T', ' ').replace(/\.\d+Z$/, ' UTC'))}</time>`
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}
