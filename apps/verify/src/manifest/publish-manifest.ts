/** `manifest publish`: appends a manifest to the log in a folder. */
import {
  cosignCheckpoint,
  formatVerifierKey,
  type LogStore,
  type Manifest,
  type NoteSigner,
  parseManifest,
  parseNoteSigner,
  publishEntry,
  verifyLatest,
} from '@privatemode/attestation'
import { type Command, formatOptions, parseOptions, required, UsageError } from '../command.ts'
import { logFolder, withLock } from './log-folder.ts'
import { readBytes, readManifest, takeFiles } from './read-manifest.ts'

const options = {
  log: { value: 'FOLDER', help: 'where the log lies; made where it does not' },
  key: { value: 'FILE', help: "the log's signing key, as `manifest key` makes it" },
  'witness-key': {
    value: 'FILE',
    help: 'cosigns with a witness key that is at hand',
    repeatable: true,
  },
} as const

export const publishManifest: Command = {
  summary: 'appends a manifest to the log in a folder',
  help: `manifest publish FILE --log FOLDER --key FILE\n\n${formatOptions(options)}`,
  run: async (args, { out }) => {
    const { files, rest } = takeFiles(args, 'FILE')
    const given = parseOptions(options, rest)
    const folder = required(given.log, 'log')
    const manifest = await readManifest(files[0] ?? '')
    const signer = await readSigner(required(given.key, 'key'))
    const witnesses = await Promise.all((given['witness-key'] ?? []).map(readSigner))
    const logKey = formatVerifierKey(signer.key)
    if (manifest.logKey !== undefined && manifest.logKey !== logKey) {
      throw new UsageError(`the manifest is for the log ${manifest.logKey}, this one is ${logKey}`)
    }
    const published = await withLock(folder, async () => {
      const store = logFolder(folder)
      requireSuccessor(await latestManifest(store, logKey), manifest)
      return publishEntry(store, signer, manifest.bytes, async (checkpoint) => {
        let cosigned = checkpoint
        for (const witness of witnesses) {
          cosigned = await cosignCheckpoint(cosigned, witness, new Date())
        }
        return cosigned
      })
    })
    const what = published.appended ? 'published as' : 'is already'
    out(`serial ${manifest.serial} ${what} entry ${published.index} of ${signer.key.name}`)
    out(`clients verify it with --logKey ${logKey}`)
    return 0
  },
}

async function readSigner(path: string): Promise<NoteSigner> {
  return parseNoteSigner(new TextDecoder().decode(await readBytes(path)))
}

async function latestManifest(store: LogStore, logKey: string): Promise<Manifest | undefined> {
  if ((await store.read('checkpoint', 65_536)) === undefined) return undefined
  const trust = { logKey, witnesses: [], quorum: 0 }
  const { entry } = await verifyLatest({ ...trust, read: store.read, remembered: undefined })
  return parseManifest(entry)
}

// Clients that run through the change would refuse a serial that does not grow.
function requireSuccessor(latest: Manifest | undefined, next: Manifest): void {
  if (latest === undefined || latest.digest === next.digest) return
  if (next.serial > latest.serial) return
  throw new UsageError(
    `serial is ${next.serial}, the latest manifest of the log has ${latest.serial}`,
  )
}
