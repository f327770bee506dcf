/** The certificates of the stack's worker: a software root that stays, and a leaf that is new with every start. */
import {
  createSoftwareRoot,
  formatSoftwareIdentity,
  issueSoftwareLeaf,
  parseSoftwareIdentity,
  softwareRootFingerprint,
} from '@privatemode/attestation/software/producer'
import type { Home } from './home.ts'

/** The worker reads its leaf once, at startup; a shorter life than the root's would end the stack while it runs. */
const days = 3650

/** Returns the fingerprint of the root, which clients pin. */
export async function ensureSoftwareIdentity(home: Home, at: Date): Promise<string> {
  const stored = await home.once(
    async () => {
      const root = await createSoftwareRoot({ name: 'Privatemode software root', at, days })
      return new TextDecoder().decode(await formatSoftwareIdentity(root))
    },
    'keys',
    'software-root.json',
  )
  const root = await parseSoftwareIdentity(new TextEncoder().encode(stored))
  const leaf = await issueSoftwareLeaf(root, { name: 'worker', at, days })
  home.write(await formatSoftwareIdentity(leaf), 'keys', 'software-leaf.json')
  return softwareRootFingerprint(root)
}
