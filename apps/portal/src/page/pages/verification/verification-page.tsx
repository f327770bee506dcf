/** Attests the backend in the visitor's own browser and shows every check. */
import { useEffect, useState } from 'preact/hooks'
import { machineSource } from '../../../manifest/machine-source.ts'
import { useStore } from '../../store.ts'
import {
  type Connection,
  connection,
  type Verified,
  verify,
  verifyOnce,
} from '../../trust/connection.ts'
import { manifestText } from '../../trust/enforced-manifest.ts'
import { Button } from '../../view/button.tsx'
import { Moment } from '../../view/moment.tsx'
import { Notice } from '../../view/notice.tsx'
import { PageHead } from '../../view/page-head.tsx'
import { Waiting } from '../../view/waiting.tsx'
import { ChainPicture } from './chain-picture.tsx'
import { IndependentCard } from './independent-card.tsx'
import { InsecureNotice } from './insecure-notice.tsx'
import { MachineCard, RefusedCard } from './machine-card.tsx'
import { ManifestCard } from './manifest-card.tsx'
import { RefusalView } from './refusal-view.tsx'
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
      return <RefusalView current={current} />
    case 'verified':
      return <VerifiedView current={current} />
  }
}

function VerifiedView({ current }: { readonly current: Verified }) {
  const transcript = useTranscript(current)
  const { manifest, workers, refused } = transcript
  const source = machineSource(manifestText(current))
  const trial = workers.some(({ hardware }) => !hardware)
  return (
    <>
      <section class={`verdict ${trial ? 'warn' : 'good'}`} data-verdict="verified">
        <h2>{trial ? 'Verified, but without confidential hardware' : 'Verified'}</h2>
        <p>
          {trial ? (
            <>
              Every check passed, but this is a trial backend: its machines vouch for themselves in
              software, so whoever runs them can read prompts. Use it to try things out.
            </>
          ) : (
            'Every check passed. Prompts are encrypted for the machines below, and nobody in between can read them.'
          )}
        </p>
        <p class="soft">
          In this browser, <Moment iso={current.at.toISOString()} />
        </p>
      </section>
      <ChainPicture current={current} />
      {manifest !== undefined && <ManifestCard manifest={manifest} current={current} />}
      {workers.map((worker) => (
        <MachineCard key={worker.worker_id} worker={worker} source={source} />
      ))}
      {refused.map((worker) => (
        <RefusedCard key={worker.worker_id} refused={worker} />
      ))}
    </>
  )
}

/** The SDK verifies again by itself as time passes; the display follows. */
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
