/** The page docs/kubernetes.md from its first command to its last one, which leaves nothing behind. */
import { must } from '../confined/rows.ts'
import type { Scene } from './scene.ts'

const steps = [
  'Push the images',
  'Namespace, keys and certificates',
  'Backend',
  'Manifest',
  'Key and proxy',
  'Ask',
]

export async function install({ cluster, rows, page }: Scene): Promise<void> {
  for (const step of steps) {
    const isDone = await rows.try(`the page: ${step}`, async () => {
      const out = await page.run(step, cluster)
      return out.trim().split('\n').at(-1) ?? ''
    })
    if (!isDone) throw new Error('without this step of the page nothing further can be tried')
  }
}

/** What further rows need: one of each may go. */
export async function grow({ cluster, rows, page }: Scene): Promise<void> {
  const isDone = await rows.try('the page: Two of each', async () => {
    await page.run('Two of each', cluster)
    const pods = await cluster.pods('app.kubernetes.io/part-of=privatemode')
    const running = pods.filter((pod) => pod.status.phase === 'Running')
    return `${running.length} pods run`
  })
  if (!isDone) throw new Error('without two of each nothing further can be tried')
}

export async function uninstall({ cluster, rows, page, isPart }: Scene): Promise<void> {
  await rows.try('the page: Uninstall, and nothing is left', async () => {
    await page.run('Uninstall', cluster)
    const names = await cluster.kubectl(['api-resources', '--verbs=list', '-o', 'name'])
    // What happened stays on record for an hour.
    const kinds = names.trim().split('\n')
    const looked = kinds.filter((kind) => !/^events(\.events\.k8s\.io)?$/.test(kind))
    const all = ['get', looked.join(','), '-A', '-o', 'name', '--ignore-not-found']
    const left = (await cluster.kubectl(all)).split('\n').filter((one) => /privatemode/.test(one))
    must(left.length === 0, `left: ${left.join(', ')}`)
    return `${looked.length} kinds of objects searched`
  })
  if (isPart) return
  await rows.try('every command of the page was run', async () => {
    // Built by this command before it began.
    const left = page.left().filter((heading) => heading !== 'Images')
    must(left.length === 0, `not run: ${left.join(', ')}`)
    return `${page.count} commands`
  })
}
