/** The conversation as a program: the same request in every language of the quick start. */
import { useState } from 'preact/hooks'
import {
  type ChatDraft,
  formatSnippet,
  type SnippetId,
  snippets,
} from '../../../snippets/snippets.ts'
import { useLoad } from '../../load.ts'
import { loadConfig } from '../../trust/load-config.ts'
import { CodeBlock } from '../../view/code-block.tsx'
import { Dialog } from '../../view/dialog.tsx'
import { Choice } from '../../view/field.tsx'

type CodeDialogProps = {
  readonly model: string
  readonly draft: ChatDraft
  readonly onClose: () => void
}

export function CodeDialog({ model, draft, onClose }: CodeDialogProps) {
  const [client, setClient] = useState<SnippetId>('curl')
  const [config] = useLoad(loadConfig, [])
  const proxyUrl = config.kind === 'ready' ? config.value.proxyUrl : undefined
  const inputs = {
    ...{ origin: proxyUrl ?? 'http://localhost:8080', model, apiKey: 'unused', draft },
    caFile: undefined,
  }
  return (
    <Dialog title="View code" onClose={onClose}>
      <p class="soft">Through your own proxy, which verifies and encrypts as this page does.</p>
      <Choice
        label="Client"
        value={client}
        onValue={setClient}
        options={snippets.map(({ id, name }) => [id, name])}
      />
      <ol class="snippet">
        {formatSnippet(client, inputs).map((step) => (
          <li key={step.do}>
            <p>{step.do}:</p>
            <CodeBlock text={step.text} what={step.do} />
          </li>
        ))}
      </ol>
    </Dialog>
  )
}
