/** The proxy, for programs that start it themselves. */
export { type ConnectOptions, connect } from './connect.ts'
export { program } from './flag-table.ts'
export { openManifestSource } from './manifest-source.ts'
export { type Proxy, type ProxyParts, startProxy } from './proxy.ts'
export { readSettings, type Settings } from './settings.ts'
export { openWorkspace, type Workspace } from './workspace.ts'
