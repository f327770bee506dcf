/** What other programs use from the portal: its build, and the operator's configuration of its pages. */
export { type BuiltPortal, buildPortal, ensurePortal } from './build.ts'
export { formatPortalConfig, noConfig, type PortalConfig } from './config/portal-config.ts'
export { PortalError, type PortalErrorCode } from './portal-error.ts'
