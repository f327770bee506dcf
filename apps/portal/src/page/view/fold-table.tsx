/** A table whose rows become cards on narrow screens: each cell has its column's name as `data-label`. */
import type { ComponentChildren } from 'preact'

type FoldTableProps = {
  readonly columns: readonly string[]
  /** Whether rows end with buttons. */
  readonly withActions: boolean
  /** The rows. */
  readonly children: ComponentChildren
}

export function FoldTable({ columns, withActions, children }: FoldTableProps) {
  return (
    <div class="table fold-room">
      <table class="fold">
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
            {withActions && (
              <th scope="col">
                <span class="hidden">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
