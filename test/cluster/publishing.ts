/** The charts as a release publishes them: pushed to a registry, pulled from it, and the same objects as before. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { must } from '../confined/rows.ts'
import type { Scene } from './scene.ts'

const releases = ['main', 'demo']

export async function tryPublishing({ cluster, rows, page }: Scene): Promise<void> {
  await rows.try('the page: Publish the charts', async () => {
    await page.run('Publish the charts', cluster)
    const index = readFileSync(join(page.folder, 'dist/charts/index.yaml'), 'utf8')
    must(index.includes('https://charts.example.org/privatemode-backend-'), 'the index has no link')
    return 'two charts pushed; an index for a web server'
  })
  await rows.try('the page: Install a published chart', async () => {
    const before = await manifests()
    await page.run('Install a published chart', cluster)
    const after = await manifests()
    for (const name of releases)
      must(before.get(name) === after.get(name), `${name} has other objects than from its folder`)
    return 'pulled from the registry; both releases have the same objects as from their folders'
  })

  async function manifests(): Promise<Map<string, string>> {
    const found = new Map<string, string>()
    for (const name of releases) found.set(name, await cluster.helm(['get', 'manifest', name]))
    return found
  }
}
