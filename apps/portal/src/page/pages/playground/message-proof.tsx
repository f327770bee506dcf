/**
 * Next to every message: what left the browser and what the gateway saw, or the answering machine
 * and its receipt.
 */
import { sealedHeaders } from '@privatemode/protocol/fleet'
import { describeEngine } from '../../../words/describe-engine.ts'
import { formatCount, formatDuration } from '../../../words/format-time.ts'
import { saveFile } from '../../save-file.ts'
import type { SealedView } from '../../trust/sealed-view.ts'
import { Badge } from '../../view/badge.tsx'
import { Button } from '../../view/button.tsx'
import { Icon } from '../../view/icon.tsx'
import { Checks } from '../verification/checks.tsx'
import type { Proof, Turn } from './conversation.ts'

export function MessageProof({ turn }: { readonly turn: Turn }) {
  if (turn.role === 'user') return turn.sent === undefined ? null : <SentProof sent={turn.sent} />
  return turn.proof === undefined ? null : <AnswerProof turn={turn} proof={turn.proof} />
}

/** Shows what this page really sent. */
function SentProof({ sent }: { readonly sent: SealedView }) {
  const bytes = sent.start.match(/.{2}/g) ?? []
  const headers = new Map(sent.headers)
  const machines = (headers.get(sealedHeaders.workers) ?? '').split(',').filter((id) => id !== '')
  return (
    <aside class="proof" aria-label="What left your browser">
      <dl>
        <dt>
          <Icon name="lock" /> Left your browser
        </dt>
        <dd>
          <code class="cipher">{bytes.slice(0, 24).join(' ')} …</code>
          <span class="soft">
            {formatCount(sent.bytes)} bytes, encrypted for{' '}
            {machines.length === 1
              ? 'one verified machine'
              : `${machines.length} verified machines`}
          </span>
        </dd>
        <dt>
          <Icon name="eye" /> The gateway saw
        </dt>
        <dd>
          <strong>None of your text.</strong>
          <span class="soft">
            {' '}
            Model <code>{headers.get(sealedHeaders.model) ?? '?'}</code>, the size, your key, the
            time.
          </span>
          <details>
            <summary>All of it</summary>
            <Request sent={sent} bytes={bytes} />
          </details>
        </dd>
      </dl>
    </aside>
  )
}

type RequestProps = { readonly sent: SealedView; readonly bytes: readonly string[] }

function Request({ sent, bytes }: RequestProps) {
  const lines = sent.headers.map(([name, value]) => `${name}: ${value}`)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: long lines are scrolled with the keyboard
    <pre class="seen" tabIndex={0}>
      {`POST /privatemode/v1/sealed\nauthorization: (your API key)\n${lines.join('\n')}\n\n${bytes.join(' ')} …`}
    </pre>
  )
}

type AnswerProofProps = { readonly turn: Turn; readonly proof: Proof }

function AnswerProof({ turn, proof }: AnswerProofProps) {
  const { machine, receipt, requestId } = proof
  return (
    <aside class={`proof ${receipt.kind}`} aria-label="Who answered">
      <dl>
        <dt>
          <Icon name="box" /> Answered by
        </dt>
        <dd>
          {machine === undefined ? (
            <span class="soft">
              {turn.state === 'writing' || receipt.kind === 'awaited'
                ? 'Known with the receipt …'
                : 'Nobody has signed for it.'}
            </span>
          ) : (
            <>
              <code>{machine.id}</code>{' '}
              <Badge kind={machine.hardware ? 'good' : 'warn'}>
                {machine.hardware ? 'protected hardware' : 'software (trial)'}
              </Badge>
              <span class="soft"> {describeEngine(machine.engine)}</span>
            </>
          )}
        </dd>
        <dt>
          <Icon name="check" /> Receipt
        </dt>
        <dd>
          <Receipt turn={turn} receipt={receipt} requestId={requestId} />
        </dd>
      </dl>
    </aside>
  )
}

type ReceiptProps = {
  readonly turn: Turn
  readonly receipt: Proof['receipt']
  readonly requestId: string
}

function Receipt({ turn, receipt, requestId }: ReceiptProps) {
  switch (receipt.kind) {
    case 'none':
      return (
        <span class="soft">
          {turn.state === 'writing'
            ? 'Comes with the end of the answer …'
            : turn.state === 'done'
              ? 'None: this page was left before it came.'
              : 'None: the answer did not come to its end.'}
        </span>
      )
    case 'awaited':
      return (
        <span class="soft">
          Follows the padding that hides the length of the answer, after 16 seconds or more …
        </span>
      )
    case 'refused':
      return <span class="bad">Receipt refused: {receipt.reason}</span>
    case 'verified': {
      const { promptTokens, completionTokens, cachedTokens, durationMs, checks, record } =
        receipt.facts
      const download = () =>
        saveFile(`${JSON.stringify({ record })}\n`, `receipt-${requestId}.jsonl`)
      return (
        <>
          <strong class="good">Receipt verified</strong>
          <span class="soft">
            {' '}
            {formatCount(promptTokens)} + {formatCount(completionTokens)} tokens,{' '}
            {formatDuration(durationMs)}
          </span>
          <details>
            <summary>What was signed and checked</summary>
            <p class="soft">
              Request <code>{requestId}</code>, {formatCount(cachedTokens)} of{' '}
              {formatCount(promptTokens)} prompt tokens from the cache.
            </p>
            <Checks checks={checks} open />
            <Button onClick={download}>Download the receipt</Button>
          </details>
        </>
      )
    }
  }
}
