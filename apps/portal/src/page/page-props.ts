/** The properties of every page. */
import type { Member } from '@privatemode/protocol/fleet'

export type PageProps = { readonly member: Member }
