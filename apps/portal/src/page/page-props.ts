/** What every page is given. */
import type { Member } from '@privatemode/protocol/fleet'

export type PageProps = { readonly member: Member }
