/**
 * Which root hash the kernel checks a file's blocks against, if the file is on a verity volume of
 * the confidential machine.
 */
import { readFile, stat } from 'node:fs/promises'

/** The name that the machine's init gives its volumes. Only the kernel's administrator can assign one. */
const identifier = /^PRIVATEMODE-VERITY-([0-9a-f]{64})$/

/** Undefined if the file is not on such a volume. */
export async function readVerityRoot(
  path: string,
  devices = '/sys/dev/block',
): Promise<string | undefined> {
  const { dev } = await stat(path)
  const major = (dev >> 8) & 0xfff
  const minor = (dev & 0xff) | ((dev >> 12) & 0xfff00)
  const uuid = await readFile(`${devices}/${major}:${minor}/dm/uuid`, 'utf8').catch(() => '')
  return identifier.exec(uuid.trim())?.[1]
}
