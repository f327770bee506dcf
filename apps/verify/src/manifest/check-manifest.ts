/** `manifest check`: is this file a manifest that clients accept? */
import type { Command } from '../command.ts'
import { readManifest, takeFiles } from './read-manifest.ts'

export const checkManifest: Command = {
  summary: 'tells whether a file is a manifest that clients accept',
  help: 'manifest check FILE',
  run: async (args, { out }) => {
    const { files } = takeFiles(args, 'FILE')
    const manifest = await readManifest(files[0] ?? '')
    out(`good: serial ${manifest.serial}, ${manifest.evidence} evidence, ${manifest.digest}`)
    return 0
  },
}
