/** The disks attached by the host, found by serial number; their content is checked, not their origin. */

export const volumeLabels = {
  root: 'root',
  /** The model server's files, if the configuration names one. */
  server: 'server',
  /** `config.json`, bound by its hash. */
  config: 'config',
  /** `host.json`: facts only the host knows. Not bound to anything. */
  host: 'host',
} as const
