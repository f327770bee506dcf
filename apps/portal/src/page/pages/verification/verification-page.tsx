/** Attests the backend in the visitor's own browser and shows every check. */
import { useEffect, useState } from 'preact/hooks'
import { useStore } from '../../store.ts'
import {
  type Connection,
  connection,
  type Verified,
  verify,
  verifyOnce,
} from '../../trust/connection.ts'
import { Button } from '../../view/button.tsx'
import { Moment } from '../../view/moment.tsx'
import { Notice } from '../../view/notice.tsx'
import { PageHead } from '../../view/page-head.tsx'
import { Waiting } from '../../view/waiting.tsx'
import { IndependentCard } from './independent-card.tsx'
import { InsecureNotice } from './insecure-notice.tsx'
import { MachineCard, RefusedCard } from './machine-card.tsx'
import { RefusalView } from './refusal-view.tsx'
import { Steps } from './steps.tsx'
import { TrustCard } from './trust-card.tsx'

export function VerificationPage() {
  const current = useStore(connection)
  useEffect(verifyOnce, [])
  const trust = 'trust' in current ? current.trust : undefined
  const again = () => void verify(trust?.from === 'visitor' ? trust : undefined)
  return (
    <>
      <PageHead
        title="Verification"
        lead="Your browser asks every machine for fresh evidence and checks it itself, against the published manifest. No prompt leaves before all of it has passed."
      >
        <Button kind="primary" busy={current.kind === 'verifying'} onClick={again}>
          Verify again
        </Button>
      </PageHead>
      <div aria-live="polite">
        <Outcome current={current} />
      </div>
      <TrustCard trust={trust} />
      <IndependentCard current={current} />
    </>
  )
}

function Outcome({ current }: { readonly current: Connection }) {
  switch (current.kind) {
    case 'none':
    case 'verifying':
      return <Waiting what="evidence" lines={5} />
    case 'unconfigured':
      return (
        <Notice kind="warn" title="This gateway names no manifest log key.">
          <p>
            Without one there is nothing to verify against. Enter a key that you got from the
            operator below, or ask them to put it into <code>portal.json</code>.
          </p>
        </Notice>
      )
    case 'insecure':
      return <InsecureNotice />
    case 'refused':
      return <RefusalView error={current.error} at={current.at} />
    case 'verified':
      return <VerifiedView current={current} />
  }
}

function VerifiedView({ current }: { readonly current: Verified }) {
  const transcript = useTranscript(current)
  const { manifest, workers, refused } = transcript
  const trial = workers.some(({ hardware }) => !hardware)
  return (
    <>
      <section class={`verdict ${trial ? 'warn' : 'good'}`} data-verdict="verified">
        <h2>{trial ? 'Verified, but without confidential hardware' : 'Verified'}</h2>
        <p>
          {trial ? (
            <>
              Every check passed, with <code>hardware: false</code>: this is a trial backend. Its
              machines vouch for themselves in software, so whoever runs them can read prompts. Use
              it to try things out.
            </>
          ) : (
            'Every check passed. Prompts are encrypted for the machines below, and nobody in between can read them.'
          )}
        </p>
        <p class="soft">
          In this browser, <Moment iso={current.at.toISOString()} />
        </p>
      </section>
      <Steps reached="all" />
      {manifest !== undefined && (
        <section class="card" aria-labelledby="manifest">
          <h2 id="manifest">Manifest in force</h2>
          <dl class="facts">
            <dt>Digest</dt>
            <dd>
              <code>{manifest.digest}</code>
            </dd>
            <dt>Number in the log</dt>
            <dd>{manifest.serial}</dd>
            <dt>Issued</dt>
            <dd>
              <Moment iso={manifest.issued_at} />
            </dd>
            {manifest.log_signed_at !== null && (
              <>
                <dt>Log signed</dt>
                <dd>
                  <Moment iso={manifest.log_signed_at} />
                </dd>
              </>
            )}
            {manifest.usable_until !== null && (
              <>
                <dt>Usable until</dt>
                <dd>
                  <Moment iso={manifest.usable_until} />, unless renewed
                </dd>
              </>
            )}
            <dt>Evidence it asks for</dt>
            <dd>{manifest.evidence === 'software' ? 'software (trial)' : 'hardware'}</dd>
          </dl>
        </section>
      )}
      {workers.map((worker) => (
        <MachineCard key={worker.worker_id} worker={worker} />
      ))}
      {refused.map((worker) => (
        <RefusedCard key={worker.worker_id} refused={worker} />
      ))}
    </>
  )
}

/** The SDK verifies anew by itself as time goes by; what is shown follows. */
function useTranscript({ client }: Verified) {
  const [transcript, setTranscript] = useState(() => client.verification.transcript())
  useEffect(() => {
    const read = () => setTranscript(client.verification.transcript())
    read()
    const timer = setInterval(read, 15_000)
    return () => clearInterval(timer)
  }, [client])
  return transcript
}
