/** "Audit my bill": compares a client's receipts with the list, in this browser. */
import type { ReceiptAudit } from '../../../audit/audit-receipts.ts'
import { Notice } from '../../view/notice.tsx'

type BillAuditProps = {
  readonly audit: ReceiptAudit | undefined
  readonly onReceipts: (text: string) => void
}

const maxFileBytes = 64 * 1024 * 1024

export function BillAudit({ audit, onReceipts }: BillAuditProps) {
  const take = async (files: FileList | null | undefined) => {
    const chosen = [...(files ?? [])].filter(({ size }) => size <= maxFileBytes)
    if (chosen.length === 0) return
    onReceipts((await Promise.all(chosen.map((file) => file.text()))).join('\n'))
  }
  return (
    <section
      class="card"
      aria-labelledby="audit-bill"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        void take(event.dataTransfer?.files)
      }}
    >
      <h2 id="audit-bill">Audit my bill</h2>
      <p>
        Every answer ends with a receipt that the machine signed. Drop the file that your proxy
        keeps with <code>--receipts</code>, or receipts from the playground: they are compared with
        the list above, here, and sent nowhere.
      </p>
      <div class="field">
        <label for="receipts">Receipts, one per line</label>
        <input
          id="receipts"
          type="file"
          multiple
          accept=".jsonl,.json,.txt"
          onChange={(event) => void take(event.currentTarget.files)}
        />
      </div>
      {audit !== undefined && <Outcome audit={audit} />}
    </section>
  )
}

function Outcome({ audit }: { readonly audit: ReceiptAudit }) {
  const differing = [...audit.byAdmission.values()].filter((found) => found.length > 0).length
  const same = audit.byAdmission.size - differing
  const isClean = differing === 0 && audit.unreadable === 0
  return (
    <Notice
      kind={differing > 0 ? 'bad' : isClean ? 'good' : 'warn'}
      title={
        differing > 0
          ? `${differing} of ${audit.receipts} are billed differently than signed.`
          : `${same} of ${audit.receipts} receipts match the bill.`
      }
      urgent
    >
      <p>
        {audit.notListed} belong to requests outside this list, {audit.unreadable} lines could not
        be read. The client that got a receipt has checked its signature.
      </p>
    </Notice>
  )
}
