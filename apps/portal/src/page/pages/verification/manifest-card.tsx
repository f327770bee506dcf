/** The current manifest as a readable document, and what changed since the previous one. */
import type { Verification } from '@privatemode/sdk'
import { compareManifests, describeManifest } from '../../../manifest/describe-manifest.ts'
import { formatAgo } from '../../../words/format-time.ts'
import { useLoad } from '../../load.ts'
import { saveFile } from '../../save-file.ts'
import type { Verified } from '../../trust/connection.ts'
import { manifestText } from '../../trust/enforced-manifest.ts'
import { type LogEntry, loadHistory } from '../../trust/log-history.ts'
import { Button } from '../../view/button.tsx'
import { Failure } from '../../view/failure.tsx'
import { Moment } from '../../view/moment.tsx'
import { Waiting } from '../../view/waiting.tsx'

type Manifest = NonNullable<Verification['manifest']>

type ManifestCardProps = { readonly manifest: Manifest; readonly current: Verified }

export function ManifestCard({ manifest, current }: ManifestCardProps) {
  const text = manifestText(current)
  const document = describeManifest(text)
  return (
    <section class="card" aria-labelledby="manifest">
      <div class="card-head">
        <h2 id="manifest">Manifest {manifest.serial}</h2>
        <span class="soft">
          issued <Moment iso={manifest.issued_at} ago />
        </span>
      </div>
      <p>What machines may run. Whatever differs from it gets no prompt of yours.</p>
      <dl class="facts">
        <dt>Digest</dt>
        <dd>
          <code>{manifest.digest}</code>
        </dd>
        {document?.facts.map(({ name, value }) => (
          <Fact key={name + value} name={name} value={value} />
        ))}
        <dt>Log signed</dt>
        <dd>
          {manifest.log_signed_at === null ? (
            'no log: the manifest was given by hand'
          ) : (
            <Age iso={manifest.log_signed_at} />
          )}
        </dd>
        {manifest.usable_until !== null && (
          <>
            <dt>Usable until</dt>
            <dd>
              <Moment iso={manifest.usable_until} />, unless renewed
            </dd>
          </>
        )}
      </dl>
      <details>
        <summary>The document as it was published</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines are scrolled with the keyboard */}
        <pre class="seen" tabIndex={0}>
          {text}
        </pre>
        <Button onClick={() => saveFile(text, 'manifest.json')}>Download the manifest</Button>
      </details>
      {manifest.log_signed_at !== null && <History digest={manifest.digest} />}
    </section>
  )
}

const Age = ({ iso }: { readonly iso: string }) => (
  <>
    <Moment iso={iso} /> ({formatAgo(iso, new Date())})
  </>
)

const Fact = ({ name, value }: { readonly name: string; readonly value: string }) => (
  <>
    <dt>{name}</dt>
    <dd>
      {/^\d{4}-\d\d-\d\dT[\d:]+Z$/.test(value) ? (
        <Moment iso={value} />
      ) : (
        <WithDigests text={value} />
      )}
    </dd>
  </>
)

/** Digests in the typeface of code; a capturing group keeps them among the pieces. */
const WithDigests = ({ text }: { readonly text: string }) =>
  text.split(/([0-9a-f]{64,})/).map((piece, at) => (at % 2 === 0 ? piece : <code>{piece}</code>))

/** The log as a timeline: newest first, with what each entry changed. */
function History({ digest }: { readonly digest: string }) {
  const [loaded, reload] = useLoad(loadHistory, [digest])
  return (
    <>
      <h3>History in the public log</h3>
      {loaded.kind === 'loading' && <Waiting what="the log" lines={2} />}
      {loaded.kind === 'failed' && (
        <Failure error={loaded.error} what="The history could not be read" onRetry={reload} />
      )}
      {loaded.kind === 'ready' && <TimeLine entries={loaded.value} digest={digest} />}
      <p class="soft">
        That the newest entry is in the signed log was proved above. Older ones are shown as the
        gateway serves them.
      </p>
    </>
  )
}

const shownEntries = 20

type TimeLineProps = { readonly entries: readonly LogEntry[]; readonly digest: string }

function TimeLine({ entries, digest }: TimeLineProps) {
  const newestFirst = entries.toReversed().slice(0, shownEntries)
  return (
    <ol class="time-line">
      {newestFirst.map((entry) => {
        const document = describeManifest(entry.text)
        const before = entries.find(({ index }) => index === entry.index - 1)
        return (
          <li key={entry.index} data-current={digest.endsWith(entry.digest)}>
            <p>
              <strong>Entry {entry.index + 1}</strong>
              {document?.issuedAt !== undefined && (
                <>
                  , issued <Moment iso={document.issuedAt} />
                </>
              )}{' '}
              {digest.endsWith(entry.digest) && <span class="badge good">in force</span>}
            </p>
            {before === undefined ? (
              <p class="soft">
                {entry.index === 0 ? 'The first manifest.' : 'Earlier ones are in the log.'}
              </p>
            ) : (
              <Changes before={before.text} after={entry.text} />
            )}
          </li>
        )
      })}
    </ol>
  )
}

function Changes({ before, after }: { readonly before: string; readonly after: string }) {
  const changes = compareManifests(before, after)
  return (
    <details>
      <summary>
        {changes.length} {changes.length === 1 ? 'field differs' : 'fields differ'} from the one
        before
      </summary>
      <ul class="changes">
        {changes.map(({ path, before: old, after: now }) => (
          <li key={path}>
            <code>{path}</code>
            {old !== undefined && <del>{old}</del>}
            {now !== undefined && <ins>{now}</ins>}
          </li>
        ))}
      </ul>
    </details>
  )
}
