/** `manifest diff`: shows what changed between two manifests. */
import type { Command } from '../command.ts'
import { compareManifests } from './compare-manifests.ts'
import { readManifest, takeFiles } from './read-manifest.ts'

export const diffManifests: Command = {
  summary: 'shows what changed between two manifests',
  help: 'npm run -s verify -- manifest diff OLDER NEWER\n\nExit code: 0 nothing changed, 1 something did.',
  run: async (args, { out }) => {
    const { files } = takeFiles(args, 'OLDER', 'NEWER')
    const older = await readManifest(files[0] ?? '')
    const newer = await readManifest(files[1] ?? '')
    const changes = compareManifests(older, newer)
    if (changes.length === 0) {
      // White space and order have no meaning, but make a different document.
      out(older.digest === newer.digest ? 'the same document' : 'different bytes, the same meaning')
      return 0
    }
    for (const { title, gone, added } of changes) {
      out(title)
      for (const line of gone) out(`  no longer: ${line}`)
      for (const line of added) out(`  new:       ${line}`)
    }
    return 1
  },
}
