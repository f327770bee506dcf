/** Which checks are removed, and which tests must notice. */
export type Target = {
  readonly name: string
  readonly sources: readonly string[]
  readonly tests: readonly string[]
  /** The short tests among them that cover much, whichever file they are in. */
  readonly short?: readonly string[]
}

const gatewayFolders = [
  'admin',
  'keys',
  'limits',
  'members',
  'metering',
  'operator',
  'registry',
  'relay',
].map((folder) => `apps/gateway/src/${folder}`)

export const targets: readonly Target[] = [
  {
    name: 'envelope',
    sources: ['packages/protocol/src/envelope'],
    tests: ['test/protocol', 'packages/protocol/src/envelope'],
  },
  {
    name: 'attestation',
    sources: [
      'packages/attestation/src/verify-worker.ts',
      'packages/attestation/src/appraise-devices.ts',
      'packages/attestation/src/appraise-worker.ts',
      'packages/attestation/src/attestation-response.ts',
      'packages/attestation/src/authenticate-worker.ts',
      'packages/attestation/src/fields.ts',
      'packages/attestation/src/strict-json.ts',
      'packages/attestation/src/software',
      'packages/attestation/src/log',
      'packages/attestation/src/manifest',
    ],
    tests: [
      'packages/attestation/src/software',
      'packages/attestation/src/log',
      'packages/attestation/src/manifest',
      'packages/attestation/src',
    ],
  },
  {
    name: 'x509',
    sources: ['packages/attestation/src/x509', 'packages/attestation/src/der'],
    tests: [
      'packages/attestation/src/x509',
      'packages/attestation/src/der',
      'packages/attestation/src',
    ],
  },
  {
    name: 'nvidia',
    sources: ['packages/attestation/src/nvidia'],
    tests: ['packages/attestation/src/nvidia', 'packages/attestation/src'],
  },
  {
    name: 'evidence',
    sources: [
      'packages/attestation/src/snp',
      'packages/attestation/src/tdx',
      'packages/attestation/src/bundle',
      'packages/attestation/src/receipt.ts',
      'packages/attestation/src/statement.ts',
    ],
    tests: [
      'packages/attestation/src/snp',
      'packages/attestation/src/tdx',
      'packages/attestation/src/bundle',
      'packages/attestation/src',
    ],
  },
  {
    name: 'protocol',
    sources: ['packages/protocol/src/api'],
    tests: ['packages/protocol/src/api'],
  },
  {
    name: 'sdk',
    sources: ['packages/sdk/src'],
    tests: ['packages/sdk/src', 'test/e2e/sealed-path.test.ts', 'test/hostile'],
  },
  {
    name: 'worker',
    sources: ['apps/worker/src/sealed', 'apps/worker/src/app.ts'],
    tests: [
      'apps/worker/src/sealed',
      'apps/worker/src/app.test.ts',
      'test/e2e/sealed-path.test.ts',
      'test/hostile',
    ],
  },
  {
    name: 'api',
    sources: ['packages/inference/src/dialects'],
    tests: [
      'packages/inference/src/dialects',
      'packages/inference/src/dialects/messages',
      'packages/inference/src/dialects/openai',
      'packages/inference/src/dialects/responses',
    ],
    short: ['packages/inference/src/dialects/refusals.test.ts'],
  },
  {
    name: 'engine',
    sources: ['packages/inference/src/servers'],
    tests: [
      'packages/inference/src/servers',
      'packages/inference/src/dialects/aborted-calls.test.ts',
      'packages/inference/src/dialects/native-answers.test.ts',
      'packages/inference/src/dialects/native-dialects.test.ts',
      'packages/inference/src/dialects/native-failures.test.ts',
      'packages/inference/src/dialects/over-http-engine.test.ts',
    ],
  },
  {
    name: 'service',
    sources: ['packages/http/src', 'packages/service/src/tracing'],
    tests: ['packages/http/src', 'packages/service/src/tracing'],
  },
  {
    name: 'gateway',
    sources: gatewayFolders,
    tests: [...gatewayFolders, 'apps/gateway/src/app.test.ts'],
  },
]
