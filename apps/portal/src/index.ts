/** What other programs need of the portal: its build, and the operator's document for its pages. */
export { type BuiltPortal, buildPortal, ensurePortal } from './build.ts'
export { formatPortalConfig, noConfig, type PortalConfig } from './config/portal-config.ts'
export { PortalError, type PortalErrorCode } from './portal-error.ts'
