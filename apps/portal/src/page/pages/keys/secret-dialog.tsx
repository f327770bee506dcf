/** Shows the secret of a key, only this once. */
import type { IssuedKey } from '@privatemode/protocol/fleet'
import { Button } from '../../view/button.tsx'
import { CodeBlock } from '../../view/code-block.tsx'
import { Dialog } from '../../view/dialog.tsx'
import { Notice } from '../../view/notice.tsx'

type SecretDialogProps = { readonly issued: IssuedKey; readonly onClose: () => void }

export function SecretDialog({ issued, onClose }: SecretDialogProps) {
  return (
    <Dialog title={`Secret of “${issued.name}”`} sticky onClose={onClose}>
      <Notice kind="warn" title="Copy it now: it is shown this one time.">
        <p>The gateway keeps only a hash. If you lose the secret, rotate the key.</p>
      </Notice>
      <CodeBlock text={issued.secret} what="API key" />
      <div class="row end">
        <Button kind="primary" onClick={onClose}>
          I have stored it
        </Button>
      </div>
    </Dialog>
  )
}
