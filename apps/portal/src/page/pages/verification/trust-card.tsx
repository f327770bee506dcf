/** Trust settings: which key or manifest this verification relies on, and how to use another one. */
import { useState } from 'preact/hooks'
import { verify } from '../../trust/connection.ts'
import { loadConfig } from '../../trust/load-config.ts'
import type { Trust } from '../../trust/trust.ts'
import { Button } from '../../view/button.tsx'
import { Choice, Field } from '../../view/field.tsx'

export function TrustCard({ trust }: { readonly trust: Trust | undefined }) {
  return (
    <section class="card" aria-labelledby="trust">
      <h2 id="trust">Trust settings</h2>
      {trust !== undefined && (
        <dl class="facts">
          {'logKey' in trust.manifest ? (
            <>
              <dt>Log key</dt>
              <dd>
                <code>{trust.manifest.logKey}</code>
              </dd>
            </>
          ) : (
            <>
              <dt>Manifest</dt>
              <dd>the document that you pasted, and no log</dd>
            </>
          )}
          <dt>Named by</dt>
          <dd>{trust.from === 'visitor' ? 'you' : "this gateway's operator, in portal.json"}</dd>
          <dt>Roots</dt>
          <dd>
            {trust.softwareRoot === undefined
              ? 'AMD, Intel and NVIDIA, pinned in this page'
              : 'AMD, Intel and NVIDIA, pinned in this page; and, for trials, the software root '}
            {trust.softwareRoot !== undefined && <code>{trust.softwareRoot}</code>}
          </dd>
        </dl>
      )}
      <details>
        <summary>Use a key or manifest that you got elsewhere</summary>
        <OwnTrust named={trust?.from === 'visitor'} />
      </details>
    </section>
  )
}

type Kind = 'log' | 'manifest'

function OwnTrust({ named }: { readonly named: boolean }) {
  const [kind, setKind] = useState<Kind>('log')
  const [text, setText] = useState('')
  const submit = async (event: Event) => {
    event.preventDefault()
    const manifest = kind === 'log' ? { logKey: text.trim() } : { pinned: text }
    // Before the configuration has loaded, it must not say that software evidence is refused.
    const config = await loadConfig().catch(() => undefined)
    void verify({ manifest, softwareRoot: config?.softwareRoot, from: 'visitor' })
  }
  return (
    <form class="stack" onSubmit={submit}>
      <p>
        A key from the operator's website or from a colleague means more than one from this gateway.
        It is used until you leave the page.
      </p>
      <Choice
        label="What you have"
        value={kind}
        onValue={setKind}
        options={[
          ['log', 'The key of the manifest log'],
          ['manifest', 'A manifest, as it was published'],
        ]}
      />
      {kind === 'log' ? (
        <Field
          label="Log key"
          required
          placeholder="name+0123abcd+base64"
          value={text}
          onValue={setText}
        />
      ) : (
        <div class="field">
          <label for="own-manifest">Manifest</label>
          <textarea
            id="own-manifest"
            rows={6}
            required
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </div>
      )}
      <div class="row">
        <Button kind="primary" type="submit">
          Verify with this
        </Button>
        {named && <Button onClick={() => void verify()}>Back to the operator's key</Button>}
      </div>
    </form>
  )
}
