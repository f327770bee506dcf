/** The disks that the host attaches, found by the serial number it gives them; what is on them is checked, not who brought them. */

export const volumeLabels = {
  root: 'root',
  /** `config.json`, bound by its hash. */
  config: 'config',
  /** `host.json`: what only the host knows. Bound by nothing. */
  host: 'host',
} as const
