/** Quick start: snippets that work when pasted. */
import type { IssuedKey, ServedModel } from '@privatemode/protocol/fleet'
import { useState } from 'preact/hooks'
import type { PortalConfig } from '../../config/portal-config.ts'
import { formatProxyCommand } from '../../snippets/proxy-command.ts'
import { formatSnippet, type SnippetId, snippets } from '../../snippets/snippets.ts'
import { callApi } from '../api/call-api.ts'
import { useLoad } from '../load.ts'
import { Link } from '../router.tsx'
import { useSubmit } from '../submit.ts'
import { loadConfig } from '../trust/load-config.ts'
import { Button } from '../view/button.tsx'
import { CodeBlock } from '../view/code-block.tsx'
import { Failure } from '../view/failure.tsx'
import { Choice } from '../view/field.tsx'
import { Notice } from '../view/notice.tsx'
import { PageHead } from '../view/page-head.tsx'
import { Waiting } from '../view/waiting.tsx'

type Way = 'proxy' | 'proxyless'

export function StartPage() {
  const [loaded, reload] = useLoad(loadStart, [])
  return (
    <>
      <PageHead
        title="Quick start"
        lead="Applications speak ordinary OpenAI or Anthropic HTTP. Choose how, copy, paste."
      />
      {loaded.kind === 'loading' && <Waiting what="snippets" lines={5} />}
      {loaded.kind === 'failed' && (
        <Failure error={loaded.error} what="The page could not be loaded" onRetry={reload} />
      )}
      {loaded.kind === 'ready' && <Start {...loaded.value} />}
    </>
  )
}

type StartFacts = { readonly config: PortalConfig; readonly models: readonly ServedModel[] }

async function loadStart(): Promise<StartFacts> {
  const [config, { models }] = await Promise.all([
    loadConfig(),
    callApi<{ models: readonly ServedModel[] }>('GET', '/models'),
  ])
  return { config, models: models.filter(({ tasks }) => tasks?.includes('generate') ?? true) }
}

function Start({ config, models }: StartFacts) {
  const [way, setWay] = useState<Way>('proxy')
  const [client, setClient] = useState<SnippetId>('curl')
  const [model, setModel] = useState(models[0]?.id ?? '')
  const [secret, setSecret] = useState<string>()
  const proxyless = config.proxylessUrl
  const steps = formatSnippet(client, {
    origin: way === 'proxy' ? (config.proxyUrl ?? 'http://localhost:8080') : (proxyless ?? ''),
    model: model === '' ? 'MODEL' : model,
    apiKey: way === 'proxy' ? 'unused' : (secret ?? 'YOUR_API_KEY'),
    caFile: way === 'proxyless' ? config.proxylessCaFile : undefined,
    contextLength: models.find(({ id }) => id === model)?.context_length,
  })
  return (
    <>
      {models.length === 0 && (
        <Notice kind="warn" title="No chat model is served at the moment.">
          <p>
            The snippets name <code>MODEL</code> until one is. See{' '}
            <Link to="/models">the models</Link>.
          </p>
        </Notice>
      )}
      <section class="card" aria-labelledby="way">
        <h2 id="way">1. How do you connect?</h2>
        <fieldset class="ways">
          <legend class="hidden">How do you connect?</legend>
          <WayOption
            way="proxy"
            chosen={way}
            onChoose={setWay}
            title="Connect through your own proxy"
          >
            It runs on your machine, verifies the backend and encrypts. You trust nobody in between.
          </WayOption>
          {proxyless !== undefined && (
            <WayOption way="proxyless" chosen={way} onChoose={setWay} title="Without a proxy">
              HTTPS and an API key, nothing to install. You trust the operator of the endpoint.
            </WayOption>
          )}
        </fieldset>
        {way === 'proxy' ? (
          <ProxyHelp config={config} />
        ) : (
          <KeyHelp secret={secret} onSecret={setSecret} />
        )}
      </section>
      <section class="card" aria-labelledby="client">
        <h2 id="client">2. Call it</h2>
        <div class="pair">
          <Choice
            label="Client"
            value={client}
            onValue={setClient}
            options={snippets.map(({ id, name }) => [id, name])}
          />
          {models.length > 0 && (
            <Choice
              label="Model"
              value={model}
              onValue={setModel}
              options={models.map((one) => [one.id, one.display_name ?? one.id])}
            />
          )}
        </div>
        <ol class="snippet">
          {steps.map((step) => (
            <li key={step.do}>
              <p>{step.do}:</p>
              <CodeBlock text={step.text} what={step.do} />
            </li>
          ))}
        </ol>
      </section>
      <section class="card" aria-labelledby="next">
        <h2 id="next">3. Look around</h2>
        <ul>
          <li>
            <Link to="/verification">Verify the backend</Link> in this browser: what runs there, and
            who says so.
          </li>
          <li>
            <Link to="/playground">Chat</Link> without installing anything; this browser encrypts.
          </li>
          <li>
            <Link to="/usage">See your usage</Link>, by model and by key.
          </li>
        </ul>
      </section>
    </>
  )
}

type WayOptionProps = {
  readonly way: Way
  readonly chosen: Way
  readonly onChoose: (way: Way) => void
  readonly title: string
  readonly children: string
}

function WayOption({ way, chosen, onChoose, title, children }: WayOptionProps) {
  return (
    <label class="way">
      <input type="radio" name="way" checked={way === chosen} onChange={() => onChoose(way)} />
      <span>
        <strong>{title}</strong>
        <span class="soft">{children}</span>
      </span>
    </label>
  )
}

function ProxyHelp({ config }: { readonly config: PortalConfig }) {
  if (config.proxyUrl !== undefined) {
    return (
      <p>
        A proxy is already running at <code>{config.proxyUrl}</code>. It has its own key, so clients
        need none.
      </p>
    )
  }
  const { manifestLogKey: logKey, softwareRoot } = config
  if (logKey === undefined) {
    return <p>Ask the operator for the key of the manifest log, then start the proxy with it.</p>
  }
  return (
    <>
      <p>
        <Link to="/keys">Create a key</Link>, save it as <code>api-key.txt</code>, and start:
      </p>
      <CodeBlock
        what="proxy command"
        text={formatProxyCommand({ gatewayOrigin: location.origin, logKey, softwareRoot })}
      />
    </>
  )
}

type KeyHelpProps = {
  readonly secret: string | undefined
  readonly onSecret: (secret: string) => void
}

function KeyHelp({ secret, onSecret }: KeyHelpProps) {
  const { busy, error, submit } = useSubmit(async () => {
    const expires_at = new Date(Date.now() + 90 * 86_400_000).toISOString()
    const made = await callApi<IssuedKey>('POST', '/keys', { name: 'Quick start', expires_at })
    onSecret(made.secret)
  })
  if (secret !== undefined) {
    return (
      <Notice kind="good" title="The snippets below contain your new key." urgent>
        <p>It is shown on this page only, and only now. It expires in 90 days.</p>
      </Notice>
    )
  }
  return (
    <>
      {error !== undefined && <Failure error={error} what="No key was made" />}
      <p class="row">
        <Button busy={busy} icon="key" onClick={submit}>
          Create a key for these snippets
        </Button>
        <span class="soft">
          or put one of yours where it says <code>YOUR_API_KEY</code>
        </span>
      </p>
    </>
  )
}
