/** What this page cannot prove, and how to check without it. */
import { shellWord } from '../../../snippets/shell-word.ts'
import { useLoad } from '../../load.ts'
import { saveFile } from '../../save-file.ts'
import type { Connection, Verified } from '../../trust/connection.ts'
import { loadConfig } from '../../trust/load-config.ts'
import { Button } from '../../view/button.tsx'
import { CodeBlock } from '../../view/code-block.tsx'

export function IndependentCard({ current }: { readonly current: Connection }) {
  const [config] = useLoad(loadConfig, [])
  const proxyUrl = config.kind === 'ready' ? config.value.proxyUrl : undefined
  return (
    <section class="card" aria-labelledby="independent">
      <h2 id="independent">What this page cannot prove</h2>
      <p>
        The checks run in your browser, but the code that makes them came from this gateway. A
        gateway that wanted to deceive you could send other code. To be independent of it, check
        with a program that you got elsewhere:
      </p>
      <ul>
        <li>
          <strong>The proxy</strong> verifies the same before it sends anything, and refuses what
          this page would refuse.{' '}
          {proxyUrl === undefined ? (
            <>
              Its own page, by default at <code>http://localhost:8080</code>, shows the checks.
            </>
          ) : (
            <>
              <a href={proxyUrl}>Its own page</a> shows the checks.
            </>
          )}
        </li>
        <li>
          <strong>The SDK</strong> in a program of yours: <code>Privatemode.connect</code> rejects
          where a check fails.
        </li>
        <li>
          <strong>The verify command</strong>, from a checkout of the source, checks the evidence
          that this browser got, with no network:
        </li>
      </ul>
      {current.kind === 'verified' ? (
        <Bundle current={current} />
      ) : (
        <p class="soft">Once a machine is verified, its evidence can be downloaded here.</p>
      )}
    </section>
  )
}

type BundleProps = { readonly current: Verified }

function Bundle({ current }: BundleProps) {
  const { client, trust } = current
  const { verifiedAt } = client.verification.bundle()
  const command = [
    'npm run -s verify -- bundle verify evidence.json',
    `--at ${verifiedAt.toISOString()}`,
    'logKey' in trust.manifest
      ? `--log-key ${shellWord(trust.manifest.logKey)}`
      : `--manifest-digest ${client.verification.transcript().manifest?.digest ?? 'DIGEST'}`,
    ...(trust.softwareRoot === undefined
      ? []
      : [`--software-root ${shellWord(trust.softwareRoot)}`]),
  ].join(' ')
  const download = () => saveFile(client.verification.bundle().bytes, 'evidence.json')
  return (
    <>
      <div class="row">
        <Button onClick={download}>Download the evidence</Button>
      </div>
      <CodeBlock what="verify command" text={command} />
    </>
  )
}
