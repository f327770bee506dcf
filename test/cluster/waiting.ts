/** What helm reports when a release does not work. */
import { must } from '../confined/rows.ts'
import type { Cluster } from './cluster.ts'
import type { Scene } from './scene.ts'

const trial = ['deploy/backend', '--values', 'deploy/examples/trial.yaml']

export async function tryWaiting({ cluster, rows, page }: Scene): Promise<void> {
  await rows.try('`helm install --wait` fails where no worker starts', async () => {
    // Its gateway is ready long before helm gives up.
    const wrong = ['--set', 'images.worker=registry.internal/nothing-here']
    const wait = ['--wait', '--timeout', '90s']
    try {
      const { code, errors } = await cluster.tryHelm(
        ['install', 'broken', ...trial, ...wrong, ...wait],
        { cwd: page.folder },
      )
      const gateway = await readyOf(cluster, 'privatemode-gateway-broken')
      must(gateway === 1, `the gateway is not ready either: ${gateway}`)
      must(code !== 0, 'helm reports success')
      return (errors.trim().split('\n').at(-1) ?? '').slice(0, 120)
    } finally {
      await cluster.tryHelm(['uninstall', 'broken', '--wait'])
    }
  })
  await rows.try('an endpoint at which the proxy would exit is refused before', async () => {
    const { code, errors } = await cluster.tryHelm(
      [
        ...['install', 'plain', 'deploy/chart', '--values', 'deploy/examples/proxy.yaml'],
        ...['--set', 'config.apiEndpoint=http://privatemode-gateway-main:8090'],
        ...['--set', 'config.manifestLogKey=log+1+A'],
      ],
      { cwd: page.folder },
    )
    must(code !== 0 && errors.includes('plain http'), `not refused: ${errors}`)
    return (/config\.apiEndpoint is .*/.exec(errors)?.[0] ?? '').slice(0, 120)
  })
}

async function readyOf(cluster: Cluster, deployment: string): Promise<number> {
  const { status } = await cluster.get('deployment', deployment)
  return status.readyReplicas ?? 0
}
