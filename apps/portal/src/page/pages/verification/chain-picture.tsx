/** The chain of trust in one diagram; every link opens to show what was checked. */
import { type ChainLink, describeChain, type LinkState } from '@privatemode/sdk/chain'
import { explainRefusal } from '../../../words/explain-refusal.ts'
import type { Connection } from '../../trust/connection.ts'
import { Icon, type IconName } from '../../view/icon.tsx'
import { CheckList } from './checks.tsx'

const looks: Record<LinkState, { readonly icon: IconName; readonly word: string }> = {
  good: { icon: 'check', word: 'Checked' },
  caution: { icon: 'warning', word: 'Caution' },
  bad: { icon: 'cross', word: 'Failed' },
  open: { icon: 'dash', word: 'Not reached' },
}

const nodeNotes: Readonly<Record<string, string>> = {
  'Your browser': 'verifies, encrypts',
  Gateway: 'blind',
  Machine: 'opens, answers',
  'Chip vendor': 'AMD, Intel, NVIDIA',
  Manifest: 'what may run',
  'Public log': 'only grows',
  Witnesses: 'see the same log',
  'Source code': 'anyone can rebuild',
}

export function ChainPicture({ current }: { readonly current: Connection }) {
  const links = describeChain(verificationOf(current), {
    self: 'Your browser',
    quorum: 0,
    refusal: refusalOf(current),
  })
  const prompt = links.filter(({ id }) => ['sealing', 'binding', 'vendor'].includes(id))
  const rules = links.filter((link) => !prompt.includes(link))
  return (
    <section class="card chain" aria-labelledby="chain">
      <h2 id="chain">The chain of trust</h2>
      <Track title="The path of your prompt" links={prompt} />
      <Track title="The path of the rules" links={rules} />
    </section>
  )
}

type TrackProps = { readonly title: string; readonly links: readonly ChainLink[] }

/** Visual only; the text after it contains the same information. */
function Track({ title, links }: TrackProps) {
  const [first] = links
  return (
    <div class="track">
      <h3>{title}</h3>
      <div class="track-picture" aria-hidden="true">
        {first !== undefined && <Node name={first.from} />}
        {links.map((link) => (
          <>
            <span key={link.id} class={`chain-link ${link.state}`}>
              <Icon name={looks[link.state].icon} />
            </span>
            <Node key={link.to} name={link.to} />
          </>
        ))}
      </div>
      <ul class="chain-links">
        {links.map((link) => (
          <Link key={link.id} link={link} />
        ))}
      </ul>
    </div>
  )
}

const Node = ({ name }: { readonly name: string }) => (
  <span class="chain-node">
    <strong>{name}</strong>
    <span class="soft">{nodeNotes[name]}</span>
  </span>
)

function Link({ link }: { readonly link: ChainLink }) {
  const { icon, word } = looks[link.state]
  const title = (
    <>
      <Icon name={icon} />
      <span>
        <strong>
          {link.from} → {link.to}
        </strong>{' '}
        <span class="chain-word">{word}.</span> {link.sentence}
      </span>
    </>
  )
  return (
    <li class={link.state} data-link={link.id} data-state={link.state}>
      {link.checks.length === 0 ? (
        <div class="chain-title">{title}</div>
      ) : (
        <details>
          <summary class="chain-title">{title}</summary>
          <CheckList
            checks={link.checks.map(({ worker, ...check }) => ({
              ...check,
              key: worker + check.id,
            }))}
          />
        </details>
      )}
    </li>
  )
}

const verificationOf = (current: Connection) =>
  current.kind === 'verified' ? current.client.verification.transcript() : undefined

function refusalOf(current: Connection) {
  if (current.kind !== 'refused') return undefined
  const { code = 'unknown', refusal } = current.error as { code?: string; refusal?: string }
  if (code === 'log_key_mistyped') return undefined // not about any link
  return { code: refusal ?? code, sentence: explainRefusal(refusal, code).meaning }
}
