/** `manifest publish`: appends a manifest to the log in a directory, or signs the log again. */
import {
  type Cosign,
  cosignCheckpoint,
  formatVerifierKey,
  type LogStore,
  type Manifest,
  type NoteSigner,
  parseManifest,
  parseNoteSigner,
  publishEntry,
  readLatestEntry,
  refreshCheckpoint,
} from '@privatemode/attestation'
import { type Command, formatOptions, parseOptions, required, UsageError } from '../command.ts'
import { logFolder, withLock } from './log-folder.ts'
import { readBytes, readManifest, takeFiles } from './read-manifest.ts'

const options = {
  log: { value: 'FOLDER', help: 'log directory, created if missing' },
  key: { value: 'FILE', help: "the log's signing key, as `manifest key` makes it" },
  'witness-key': {
    value: 'FILE',
    help: 'cosigns with a local witness key',
    repeatable: true,
  },
  refresh: { help: 'appends nothing: signs the latest state anew, with the present time' },
} as const

export const publishManifest: Command = {
  summary: 'appends a manifest to the log in a folder, or signs the log anew',
  help: `npm run -s verify -- manifest publish FILE --log FOLDER --key FILE
npm run -s verify -- manifest publish --refresh --log FOLDER --key FILE

Clients refuse a log that was last signed more than 72 hours ago: have a timer run --refresh once a day.

${formatOptions(options)}`,
  run: async (args, output) => {
    const refresh = args.includes('--refresh')
    const { files, rest } = refresh ? { files: [], rest: args } : takeFiles(args, 'FILE')
    const given = parseOptions(options, rest)
    const folder = required(given.log, 'log')
    const signer = await readSigner(required(given.key, 'key'))
    const witnesses = await Promise.all((given['witness-key'] ?? []).map(readSigner))
    const cosign: Cosign = async (checkpoint) => {
      let cosigned = checkpoint
      for (const witness of witnesses) {
        cosigned = await cosignCheckpoint(cosigned, witness, new Date())
      }
      return cosigned
    }
    const store = logFolder(folder)
    if (refresh) return withLock(folder, () => signAnew(store, signer, cosign, output.out))
    const manifest = await readManifest(files[0] ?? '')
    return withLock(folder, () => append(store, signer, manifest, cosign, output.out))
  },
}

async function append(
  store: LogStore,
  signer: NoteSigner,
  manifest: Manifest,
  cosign: Cosign,
  out: (text: string) => void,
): Promise<number> {
  const logKey = formatVerifierKey(signer.key)
  if (manifest.logKey !== undefined && manifest.logKey !== logKey) {
    throw new UsageError(`the manifest is for the log ${manifest.logKey}, this one is ${logKey}`)
  }
  requireSuccessor(await latestManifest(store, signer), manifest)
  const published = await publishEntry(store, signer, manifest.bytes, { cosign })
  const what = published.appended ? 'published as' : 'is already'
  out(`serial ${manifest.serial} ${what} entry ${published.index} of ${signer.key.name}`)
  out(`clients verify it with --manifestLogKey ${logKey}`)
  return 0
}

async function signAnew(
  store: LogStore,
  signer: NoteSigner,
  cosign: Cosign,
  out: (text: string) => void,
): Promise<number> {
  const at = new Date()
  await refreshCheckpoint(store, signer, { at, cosign })
  const latest = await latestManifest(store, signer)
  out(`${signer.key.name}: entry with serial ${latest?.serial} re-signed at ${at.toISOString()}`)
  const { expiresAt } = latest ?? {}
  if (expiresAt !== undefined && expiresAt.getTime() - at.getTime() < expiryWarningMs) {
    out(`warning: that manifest expires at ${expiresAt.toISOString()}; publish a new one before`)
  }
  return 0
}

const expiryWarningMs = 14 * 24 * 3_600_000

async function readSigner(path: string): Promise<NoteSigner> {
  return parseNoteSigner(new TextDecoder().decode(await readBytes(path)))
}

async function latestManifest(store: LogStore, signer: NoteSigner): Promise<Manifest | undefined> {
  const latest = await readLatestEntry(store, signer)
  return latest === undefined ? undefined : parseManifest(latest.entry)
}

// Clients that see the change would refuse a serial that does not increase.
function requireSuccessor(latest: Manifest | undefined, next: Manifest): void {
  if (latest === undefined || latest.digest === next.digest) return
  if (next.serial > latest.serial) return
  throw new UsageError(
    `serial is ${next.serial}, the latest manifest of the log has ${latest.serial}`,
  )
}
