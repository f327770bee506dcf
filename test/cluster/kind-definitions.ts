/** Files in which other projects define the kinds of objects that our charts use: KEDA, LeaderWorkerSet, the Prometheus operator. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type GoModule, obtainModule } from '../../scripts/deploy/go-tools.ts'

const places: readonly (readonly [GoModule, string, RegExp])[] = [
  ['keda', 'config/crd/bases', /scaledobjects/],
  ['leaderworkerset', 'config/crd/bases', /leaderworkersets/],
  [
    'prometheus',
    'example/prometheus-operator-crd',
    /_(servicemonitors|podmonitors|prometheusrules)/,
  ],
]

export function obtainDefinitions(): string[] {
  return places.flatMap(([module, folder, pattern]) => {
    const obtained = obtainModule(module)
    if (obtained.kind === 'missing') throw new Error(obtained.reason)
    const path = join(obtained.path, folder)
    return readdirSync(path)
      .filter((file) => pattern.test(file))
      .map((file) => join(path, file))
  })
}
