/** The table of pages: address, name, icon, view. */
import type { ComponentType } from 'preact'
import type { PageProps } from './page-props.ts'
import { AccountPage } from './pages/account-page.tsx'
import { AuditPage } from './pages/audit/audit-page.tsx'
import { KeysPage } from './pages/keys/keys-page.tsx'
import { MembersPage } from './pages/members/members-page.tsx'
import { ModelsPage } from './pages/models-page.tsx'
import { PlaygroundPage } from './pages/playground/playground-page.tsx'
import { RequestsPage } from './pages/requests/requests-page.tsx'
import { StartPage } from './pages/start-page.tsx'
import { UsagePage } from './pages/usage/usage-page.tsx'
import { VerificationPage } from './pages/verification/verification-page.tsx'
import type { IconName } from './view/icon.tsx'

export type Page = {
  readonly path: string
  readonly name: string
  readonly icon: IconName
  readonly View: ComponentType<PageProps>
  /** Others neither see it nor may load its data. */
  readonly forAdmins?: true
}

export const mayOpen = (page: Page, { role }: PageProps['member']): boolean =>
  page.forAdmins !== true || role === 'admin'

/** The first one also serves unknown addresses. */
export const pages: readonly [Page, ...Page[]] = [
  { path: '/', name: 'Quick start', icon: 'rocket', View: StartPage },
  { path: '/playground', name: 'Playground', icon: 'chat', View: PlaygroundPage },
  { path: '/verification', name: 'Verification', icon: 'shield', View: VerificationPage },
  { path: '/models', name: 'Models', icon: 'box', View: ModelsPage },
  { path: '/keys', name: 'API keys', icon: 'key', View: KeysPage },
  { path: '/usage', name: 'Usage', icon: 'chart', View: UsagePage },
  { path: '/requests', name: 'Requests', icon: 'table', View: RequestsPage },
  { path: '/members', name: 'Members', icon: 'people', View: MembersPage },
  { path: '/audit', name: 'Audit log', icon: 'list', View: AuditPage, forAdmins: true },
  { path: '/account', name: 'Your account', icon: 'person', View: AccountPage },
]
