/** One machine: what it is, and every check it passed or failed. */
import { revocationWords, type WorkerRefusal, type WorkerVerification } from '@privatemode/sdk'
import { Fragment } from 'preact'
import type { MachineSource } from '../../../manifest/machine-source.ts'
import { describeEngine } from '../../../words/describe-engine.ts'
import { describeEvidence } from '../../../words/describe-evidence.ts'
import { explainRefusal } from '../../../words/explain-refusal.ts'
import { Badge } from '../../view/badge.tsx'
import { Moment } from '../../view/moment.tsx'
import { Checks } from './checks.tsx'

type MachineCardProps = {
  readonly worker: WorkerVerification
  /** What the manifest says about the source of its measurements. */
  readonly source: MachineSource | undefined
}

export function MachineCard({ worker, source }: MachineCardProps) {
  const { kind, measurement } = describeEvidence(worker.checks)
  return (
    <section class="card" aria-label={`Machine ${worker.worker_id}`}>
      <div class="card-head">
        <h2>
          Machine <code>{worker.worker_id}</code>
        </h2>
        <Badge kind={worker.hardware ? 'good' : 'warn'}>
          {worker.hardware ? 'protected hardware' : 'software (trial)'}
        </Badge>
      </div>
      <dl class="facts">
        <dt>Evidence</dt>
        <dd>{kind}</dd>
        {measurement !== undefined && (
          <>
            <dt>Measurement</dt>
            <dd>
              <code>{measurement}</code>, as the manifest lists it
            </dd>
            <dt>Source</dt>
            <dd>
              <Source source={source} />
            </dd>
          </>
        )}
        <dt>Models</dt>
        <dd>{worker.models.join(', ')}</dd>
        <dt>Software</dt>
        <dd>
          {describeEngine(worker.engine)}, build <code>{worker.build}</code>
        </dd>
        <dt>Encryption key</dt>
        <dd>
          <code>{worker.seal_key_id}</code>
        </dd>
        <dt>Revocation</dt>
        <dd>{revocationWords[worker.revocation].replace(/^revocation /, '')}</dd>
        {worker.machine.map(({ kind, id, listed }) => (
          <Fragment key={id}>
            <dt>{identityNames[kind]}</dt>
            <dd>
              <code>{id}</code> ({listed ? 'listed in the manifest' : 'any genuine one is accepted'}
              )
            </dd>
          </Fragment>
        ))}
        <dt>Verified</dt>
        <dd>
          <Moment iso={worker.verified_at} ago />, counts until <Moment iso={worker.valid_until} />
        </dd>
      </dl>
      <Checks checks={worker.checks} open={false} />
    </section>
  )
}

/** Where a rebuild starts; this page cannot do it, so nothing here is green. */
function Source({ source }: Pick<MachineCardProps, 'source'>) {
  if (source === undefined) {
    return (
      <>
        The manifest names none. Build the machine from a source that you trust and compare with{' '}
        <code>npm run -s verify -- measure</code>.
      </>
    )
  }
  const { revision, repository, command } = source
  return (
    <>
      Commit <code>{revision}</code>
      {repository !== undefined && (
        <>
          {' '}
          of <code>{repository}</code>
        </>
      )}
      , says the manifest. This page did not rebuild it. Download the manifest above, then rebuild
      and compare in a checkout: <code>{command}</code>
    </>
  )
}

const identityNames = { chip: 'Chip', platform: 'Platform', gpu: 'GPU', switch: 'Switch' } as const

/** Nothing is ever sealed to such a machine. */
export function RefusedCard({ refused }: { readonly refused: WorkerRefusal }) {
  const { meaning } = explainRefusal(refused.code, refused.code)
  return (
    <section class="card" aria-label={`Refused machine ${refused.worker_id}`}>
      <div class="card-head">
        <h2>
          Machine <code>{refused.worker_id}</code>
        </h2>
        <Badge kind="bad">refused</Badge>
      </div>
      <p>{meaning} It gets no request of yours.</p>
      <p class="soft">
        <code>{refused.code}</code>: {refused.reason}
      </p>
      {refused.checks.length > 0 && <Checks checks={refused.checks} />}
    </section>
  )
}
