/** A dialog that asks for something and sends it, or says why that failed; it can be left without. */
import type { ComponentChildren } from 'preact'
import type { Submission } from '../submit.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Failure } from './failure.tsx'

type FormDialogProps = Submission & {
  readonly title: string
  readonly onClose: () => void
  /** What the button says that sends. */
  readonly action: string
  /** Whether what is sent takes something away. */
  readonly dangerous?: boolean
  /** What the button says that leaves. */
  readonly leave?: string
  /** What is so where sending failed, such as "The key was not saved". */
  readonly failed: string
  readonly children: ComponentChildren
}

export function FormDialog(props: FormDialogProps) {
  const { title, onClose, action, dangerous = false, leave = 'Cancel', failed, children } = props
  const { busy, error, submit } = props
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        {children}
        {error !== undefined && <Failure error={error} what={failed} />}
        <div class="row end">
          <Button onClick={onClose}>{leave}</Button>
          <Button kind={dangerous ? 'danger' : 'primary'} type="submit" busy={busy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
