/** What every page is given. */
import type { Member } from './api/wire.ts'

export type PageProps = { readonly member: Member }
