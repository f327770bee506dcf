import { expect, test } from 'bun:test'
import { parseSettings } from '../settings.ts'

function attestation(...args: string[]) {
  const parsed = parseSettings({ args: ['--engineUrl', 'http://127.0.0.1:1', ...args], env: {} })
  if (parsed.kind !== 'settings') throw new Error('expected settings')
  return parsed.settings.attestation
}

test('by default the detected hardware attests, with collateral from the vendors themselves', () => {
  expect(attestation()).toEqual({
    kind: 'hardware',
    cpu: undefined,
    reportPath: '/sys/kernel/config/tsm/report',
    gpus: 0,
    gpuCommand: [process.execPath, Bun.main, 'gpu-evidence', '--nonce', '{nonce}'],
    timeoutMs: 10_000,
    amdKdsUrl: 'https://kdsintf.amd.com',
    amdProduct: undefined,
    intelPcsUrl: 'https://api.trustedservices.intel.com',
    intelRootCrlUrl: 'https://certificates.trustedservices.intel.com/IntelSGXRootCA.der',
    nvidiaRimUrl: 'https://rim.attestation.nvidia.com',
    nvidiaOcspUrl: 'https://ocsp.ndis.nvidia.com',
    collateralFolder: undefined,
  })
})

test('a kind of hardware can be required, and mirrors configured', () => {
  expect(
    attestation('--attestation', 'tdx', '--intelPcsUrl', 'http://pccs.example:8081/'),
  ).toMatchObject({ cpu: 'tdx', intelPcsUrl: 'http://pccs.example:8081' })
})

test('software attests only if an identity is configured', () => {
  const software = { kind: 'software', identityPath: 'id.json' } as const
  expect(attestation('--softwareIdentity', 'id.json')).toEqual(software)
  expect(attestation('--attestation', 'software', '--softwareIdentity', 'id.json')).toEqual(
    software,
  )
})

test.each([
  [['--attestation', 'software']],
  [['--attestation', 'snp', '--softwareIdentity', 'id.json']],
  [['--softwareIdentity', 'id.json', '--gpus', '1']],
  [['--gpuCommand', 'nvattest collect-evidence']],
  [['--gpuCommand', '{nonce}']],
  [['--amdKdsUrl', 'ftp://mirror.example']],
  [['--nvidiaOcspUrl', 'nowhere']],
])('%p is contradictory and refused at startup', (args) => {
  expect(() => attestation(...args)).toThrow(expect.objectContaining({ code: 'settings_invalid' }))
})

test.each([[['--attestation', 'sgx']], [['--gpus', '17']], [['--amdProduct', 'Rome']]])(
  '%p is not among the choices',
  (args) => {
    expect(() => attestation(...args)).toThrow('expected')
  },
)
