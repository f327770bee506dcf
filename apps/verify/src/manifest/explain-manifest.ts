/** `manifest explain`: describes in plain words what a manifest accepts. */
import type { Command } from '../command.ts'
import { explainManifest } from './explanation.ts'
import { readManifest, takeFiles } from './read-manifest.ts'

export const explainManifestFile: Command = {
  summary: 'describes in plain words what a manifest accepts',
  help: 'npm run -s verify -- manifest explain FILE',
  run: async (args, { out }) => {
    const { files } = takeFiles(args, 'FILE')
    const manifest = await readManifest(files[0] ?? '')
    out(`${files[0]}: ${manifest.digest}`)
    for (const { title, lines } of explainManifest(manifest)) {
      out(`\n${title}`)
      for (const line of lines) out(`  - ${line}`)
    }
    return 0
  },
}
