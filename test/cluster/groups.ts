/** The rows of `test:cluster` in the order in which they run, by the names that `--only` takes. */
import { tryBackup } from './backup.ts'
import { tryDialects } from './dialects.ts'
import { tryFailures } from './failures.ts'
import { grow, install, uninstall } from './follow-page.ts'
import { tryKeyLimits } from './key-limits.ts'
import { tryPolicies } from './policies.ts'
import { tryPublishing } from './publishing.ts'
import { tryRenewal } from './renewal.ts'
import { tryRollouts } from './rollouts.ts'
import type { Scene } from './scene.ts'
import { trySecurity } from './security.ts'
import { tryValues } from './values.ts'
import { tryWaiting } from './waiting.ts'

/** Steps of the page on which the others build. */
export const neededGroups: readonly string[] = ['install', 'grow', 'uninstall']

export const groups: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  install,
  dialects: tryDialects,
  security: trySecurity,
  policies: tryPolicies,
  waiting: tryWaiting,
  values: tryValues,
  grow,
  rollouts: tryRollouts,
  failures: tryFailures,
  limits: tryKeyLimits,
  renewal: tryRenewal,
  backup: tryBackup,
  publishing: tryPublishing,
  uninstall,
}
