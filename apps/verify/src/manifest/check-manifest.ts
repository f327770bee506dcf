/** `manifest check`: is this file a manifest that clients accept, and does it leave nothing open? */
import { AttestationError, formatInstant } from '@privatemode/attestation'
import { type Command, formatOptions, parseOptions } from '../command.ts'
import { readManifest, takeFiles } from './read-manifest.ts'
import { findWeaknesses } from './weaknesses.ts'

const options = {
  strict: { help: 'treat warnings as errors' },
  at: { value: 'TIME', help: 'the time to check for; now if unset' },
} as const

export const checkManifest: Command = {
  summary: 'tells whether a file is a manifest that clients accept',
  help: `manifest check FILE [options]\n\n${formatOptions(options)}`,
  run: async (args, { out, error }) => {
    const { files, rest } = takeFiles(args, 'FILE')
    const given = parseOptions(options, rest)
    const manifest = await readManifest(files[0] ?? '')
    const { expiresAt } = manifest
    const at = given.at === undefined ? new Date() : new Date(given.at[0] ?? '')
    if (expiresAt !== undefined && !(at < expiresAt)) {
      const message = `${files[0]}: expired at ${formatInstant(expiresAt)}`
      throw new AttestationError('manifest_expired', message)
    }
    const weaknesses = findWeaknesses(manifest)
    const isRefused = given.strict !== undefined && weaknesses.length > 0
    for (const one of weaknesses) {
      if (isRefused) error(`refused: ${one}`)
      else out(`warning: ${one}`)
    }
    if (isRefused) return 1
    out(`good: serial ${manifest.serial}, ${manifest.evidence} evidence, ${manifest.digest}`)
    return 0
  },
}
