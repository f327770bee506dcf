/** The proxy, for programs that start it themselves. */

export { program } from './flag-table.ts'
export { type Proxy, type ProxyParts, startProxy } from './proxy.ts'
export { readSettings, type Settings } from './settings.ts'
export { type ConnectOptions, connect } from './trust/connect.ts'
export { openManifestSource } from './trust/manifest-source.ts'
export { openWorkspace, type Workspace } from './workspace.ts'
