import { expect, test } from 'bun:test'
import { vendorRoots } from './roots.ts'
import { readVectorText } from './testing/vectors.ts'
import { fingerprint, parseCertificate, parsePem } from './x509/certificate.ts'
import { isSignedBy } from './x509/chain.ts'

const files = [
  ['amd', 'snp/amd-roots/ask_ark_milan.pem'],
  ['amd', 'snp/amd-roots/ask_ark_genoa.pem'],
  ['amd', 'snp/amd-roots/ask_ark_turin_vcek.pem'],
  ['intel', 'tdx/intel-root/Intel_SGX_Provisioning_Certification_RootCA.pem'],
  ['nvidiaDevice', 'nvidia/nvtrust/verifier_device_root.pem'],
  ['nvidiaRim', 'nvidia/nvtrust/verifier_RIM_root.pem'],
] as const

test.each([...files])('the %s root of %s is pinned', async (vendor, path) => {
  const der = parsePem(readVectorText(path)).at(-1)!
  const root = parseCertificate(der)
  expect(vendorRoots[vendor]).toContain(await fingerprint(der))
  expect(await isSignedBy(root, root)).toBe(true)
})

test('production trusts no software root', () => {
  expect(vendorRoots.software).toEqual([])
})
