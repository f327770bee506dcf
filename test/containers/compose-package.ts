/** docker compose as Debian 13 packages it; Debian 12 has only its predecessor. */
import type { DebianPackage } from '../../scripts/deploy/debian-root.ts'

export const composePackage: DebianPackage = {
  name: 'docker-compose',
  version: '2.26.1-4',
  path: 'pool/main/d/docker-compose/docker-compose_2.26.1-4_amd64.deb',
  sha256: '47681197cb2b1ab88206b42a1a92fc75f50d9530a6322d03494a473eed0408ea',
}
