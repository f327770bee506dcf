/** `manifest enroll`: adds a machine, identified by verified evidence, to the rules of a manifest. */
import { writeFile } from 'node:fs/promises'
import { formatInstant, type Manifest, parseManifest } from '@privatemode/attestation'
import { type Command, formatOptions, parseOptions, required, UsageError } from '../command.ts'
import { evidenceOptions, judgeEvidence } from '../evidence/evidence-command.ts'
import { readManifest, takeFiles } from './read-manifest.ts'

const { file: _file, manifest: _manifest, nonce: _nonce, ...collateralOptions } = evidenceOptions
const options = {
  previous: { value: 'FILE', help: 'previous manifest' },
  ...collateralOptions,
  role: { value: 'worker|proxyless', help: 'whose rules; worker if unset' },
  rule: {
    value: 'N',
    help: 'which rule, as numbered by `manifest explain`; required if several match',
  },
  issued: { value: 'TIME', help: 'time of issue, 2026-01-31T12:00:00Z; now if unset' },
  out: { value: 'FILE', help: 'output file; standard output if unset' },
} as const

export const enrollMachine: Command = {
  summary: 'adds a machine to a manifest, by its evidence',
  help: `npm run -s verify -- manifest enroll EVIDENCE --type KIND --at TIME --previous FILE [options]

Verifies EVIDENCE as \`evidence\` does and adds what it identifies to the lists of a rule: the chip
(SNP), the PPID (TDX), GPUs and switches (NVIDIA). A rule that had no list accepted every genuine
machine and now accepts those of its list. The serial is the next one; the time of validity is as
long as before.

${formatOptions(options)}`,
  run: async (args, { out, error }) => {
    const { files, rest } = takeFiles(args, 'EVIDENCE')
    const given = parseOptions(options, rest)
    const previous = await readManifest(required(given.previous, 'previous'))
    const verdict = await judgeEvidence({ ...given, file: files })
    if (!verdict.authentic) {
      error(`refused: ${verdict.message} (${verdict.code})`)
      return 1
    }
    const identities = readIdentities(verdict.claims)
    const role = given.role?.[0] ?? 'worker'
    const document = JSON.parse(new TextDecoder().decode(previous.bytes)) as Wire
    const rules = document.roles[role]?.accept
    if (rules === undefined) throw new UsageError(`the manifest has no role ${role}`)
    const rule = chooseRule(rules, required(given.type, 'type'), given.rule?.[0])
    const added = identities.filter((identity) => addTo(rule, identity))
    const next = { ...document, ...successor(previous, given.issued?.[0]) }
    const bytes = Buffer.from(`${JSON.stringify(next, null, 2)}\n`)
    const manifest = await parseManifest(bytes)
    const target = given.out?.[0]
    if (target === undefined) out(bytes.toString().trimEnd())
    else {
      await writeFile(target, bytes)
      for (const { field, id } of identities) {
        const isNew = added.some((one) => one.id === id)
        out(`${isNew ? 'added to' : 'already in'} ${field}: ${id}`)
      }
      out(`${target}: serial ${manifest.serial}, ${manifest.digest}`)
    }
    return 0
  },
}

type WireRule = { [name: string]: unknown }
type Wire = { readonly roles: Readonly<Record<string, { accept: WireRule[] } | undefined>> }

type Identity = {
  readonly field: 'chip_ids' | 'platform_ids' | 'gpu_serials' | 'switch_serials'
  readonly id: string
}

/** What the claims of one or several reports identify; only what the hardware certifies. */
function readIdentities(claims: unknown): Identity[] {
  const { reports } = Object(claims) as { readonly reports?: readonly unknown[] }
  const found = (reports ?? [claims]).flatMap(readIdentity)
  if (found.length === 0) throw new UsageError('the evidence identifies no machine')
  return found
}

function readIdentity(claims: unknown): Identity[] {
  const { signer, chipId, platformIds, device, deviceId } = Object(claims) as {
    readonly signer?: string
    readonly chipId?: string
    readonly platformIds?: readonly string[]
    readonly device?: 'gpu' | 'switch'
    readonly deviceId?: string
  }
  if (signer === 'vlek') throw new UsageError('a VLEK is not certified for a specific chip')
  if (chipId !== undefined) return [{ field: 'chip_ids', id: chipId }]
  const [platformId] = platformIds ?? []
  if (platformId !== undefined) return [{ field: 'platform_ids', id: platformId }]
  if (deviceId === undefined) return []
  return [{ field: device === 'switch' ? 'switch_serials' : 'gpu_serials', id: deviceId }]
}

function chooseRule(rules: WireRule[], type: string, chosen: string | undefined): WireRule {
  const fits = (rule: WireRule) =>
    type === 'nvidia-gpu' ? Object(rule.devices)['nvidia-gpu'] !== undefined : rule.kind === type
  if (chosen !== undefined) {
    const rule = rules[Number(chosen) - 1]
    if (rule === undefined || !fits(rule)) throw new UsageError(`rule ${chosen} is not for ${type}`)
    return rule
  }
  const [rule, other] = rules.filter(fits)
  if (rule === undefined) throw new UsageError(`the manifest has no rule for ${type}`)
  if (other !== undefined) throw new UsageError(`several rules are for ${type}: give --rule`)
  return rule
}

/** False if it was already listed. */
function addTo(rule: WireRule, { field, id }: Identity): boolean {
  const isDevice = field === 'gpu_serials' || field === 'switch_serials'
  const target: WireRule = isDevice ? Object(rule.devices)['nvidia-gpu'] : rule
  const listed = (target[field] ?? []) as readonly string[]
  if (listed.includes(id)) return false
  target[field] = [...listed, id]
  return true
}

function successor(previous: Manifest, issued: string | undefined) {
  const { issuedAt, expiresAt, serial } = previous
  const now = issued === undefined ? new Date() : new Date(issued)
  if (Number.isNaN(now.getTime())) throw new UsageError(`--issued is ${issued}, expected a time`)
  const lifetime = expiresAt && expiresAt.getTime() - issuedAt.getTime()
  return {
    serial: serial + 1,
    issued_at: formatInstant(now),
    ...(lifetime && { expires_at: formatInstant(new Date(now.getTime() + lifetime)) }),
  }
}
