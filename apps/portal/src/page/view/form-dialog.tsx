/** A dialog with a form that is submitted or cancelled; shows the error if submitting fails. */
import type { ComponentChildren } from 'preact'
import type { Submission } from '../submit.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Failure } from './failure.tsx'

type FormDialogProps = Submission & {
  readonly title: string
  readonly onClose: () => void
  /** Label of the submit button. */
  readonly action: string
  /** Whether submitting is destructive. */
  readonly dangerous?: boolean
  /** Label of the cancel button. */
  readonly leave?: string
  /** What to say if submitting fails, such as "The key was not saved". */
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
