/** The database is backed up, changed and restored: what was there is back, what came later is gone. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { must } from '../confined/rows.ts'
import { askGateway } from './gateway-command.ts'
import { deployments } from './rollouts.ts'
import type { Scene } from './scene.ts'

export async function tryBackup({ cluster, rows, page }: Scene): Promise<void> {
  await rows.try('the page: Back up and restore the database', async () => {
    await page.run('Back up and restore the database', cluster)
    const later = JSON.parse(await askGateway(cluster, 'keys', 'create', '--name', 'later'))
    const names = async () => await askGateway(cluster, 'keys', 'list')
    must((await names()).includes(later.id), 'the later key was not made')
    await page.run('Restore', cluster)
    const restored = await names()
    must(restored.includes('first'), `the first key is gone: ${restored.slice(0, 300)}`)
    must(!restored.includes(later.id), 'the later key is still there')
    const url = `http://${await cluster.addressOf(deployments.proxy)}:8080/v1/chat/completions`
    await cluster.until('an answer with the restored key', async () => {
      const messages = [{ role: 'user', content: '[[say all is well]]' }]
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'chat-model', messages }),
        signal: AbortSignal.timeout(60_000),
      }).catch(() => undefined)
      return (await response?.text())?.includes('all is well') ?? false
    })
    const { size } = statSync(join(page.folder, 'cluster/gateway.dump'))
    return `${Math.ceil(size / 1024)} KiB; the key of before answers, the one of after is gone`
  })
}
