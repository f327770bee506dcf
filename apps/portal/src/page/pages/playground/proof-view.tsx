/** What is known about one answer: its receipt, and what the gateway saw. */
import { describeFailure } from '../../../words/describe-failure.ts'
import { formatCount, formatDuration } from '../../../words/format-time.ts'
import type { SealedView } from '../../trust/sealed-view.ts'
import { Icon } from '../../view/icon.tsx'
import { Checks } from '../verification/checks.tsx'
import type { Proof } from './conversation.ts'

export function ProofView({ proof }: { readonly proof: Proof }) {
  return (
    <details class={`proof ${proof.receipt.kind}`}>
      <summary>
        <Headline receipt={proof.receipt} />
      </summary>
      <ReceiptFacts receipt={proof.receipt} requestId={proof.requestId} />
      {proof.seen !== undefined && <Seen seen={proof.seen} />}
    </details>
  )
}

function Headline({ receipt }: { readonly receipt: Proof['receipt'] }) {
  switch (receipt.kind) {
    case 'verified': {
      const { promptTokens, completionTokens, durationMs } = receipt.receipt
      return (
        <span class="good">
          <Icon name="check" /> Receipt verified · {formatCount(promptTokens)} +{' '}
          {formatCount(completionTokens)} tokens · {formatDuration(durationMs)}
        </span>
      )
    }
    case 'refused':
      return (
        <span class="bad">
          <Icon name="cross" /> Receipt refused
        </span>
      )
    case 'none':
      return (
        <span>
          <Icon name="dash" /> No receipt: the answer did not come to its end
        </span>
      )
  }
}

type FactsProps = { readonly receipt: Proof['receipt']; readonly requestId: string }

function ReceiptFacts({ receipt, requestId }: FactsProps) {
  return (
    <>
      {receipt.kind === 'refused' && <p>{describeFailure(receipt.error).reason}</p>}
      <dl class="facts">
        <dt>Request</dt>
        <dd>
          <code>{requestId}</code>
        </dd>
        {receipt.kind === 'verified' && (
          <>
            <dt>Machine</dt>
            <dd>
              <code>{receipt.receipt.workerId}</code>
            </dd>
            <dt>Cached</dt>
            <dd>
              {formatCount(receipt.receipt.cachedTokens)} of{' '}
              {formatCount(receipt.receipt.promptTokens)} prompt tokens
            </dd>
          </>
        )}
      </dl>
      {receipt.kind === 'verified' && <Checks checks={receipt.receipt.checks} open={false} />}
    </>
  )
}

/** Shown from what this page really sent, not described. */
function Seen({ seen }: { readonly seen: SealedView }) {
  const lines = seen.headers.map(([name, value]) => `${name}: ${value}`)
  const bytes = seen.start.match(/.{1,2}/g)?.join(' ') ?? ''
  return (
    <>
      <h3>What the gateway saw of your message</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines are scrolled with the keyboard */}
      <pre class="seen" tabIndex={0}>
        {`POST /privatemode/v1/sealed\n${lines.join('\n')}\n\n${bytes} …`}
      </pre>
      <p class="soft">{formatCount(seen.bytes)} bytes, and your API key.</p>
    </>
  )
}
