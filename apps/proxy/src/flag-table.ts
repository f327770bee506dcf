/** The proxy's flags: parsed, shown by `--help` and printed into the documentation from this one table. */
import type { FlagTable, Program } from '@privatemode/service'
import { agentNames } from './agents/agent-settings.ts'

export const specified = 'Flags of the interface'
export const ours = 'Flags of this implementation'

/** Reserved names (RFC 2606): this is an independent implementation, so no service is built in. */
export const exampleApiEndpoint = 'api.privatemode.example:443'

const flags = {
  apiEndpoint: {
    type: 'string',
    default: exampleApiEndpoint,
    group: specified,
    help: 'endpoint of the service API as host:port (HTTPS); http://host:port for loopback only',
  },
  apiKey: {
    type: 'secret',
    group: specified,
    help: 'API key; if unset the proxy does not authenticate itself and forwards the key of each client',
  },
  dumpRequests: {
    type: 'boolean',
    group: specified,
    help: 'dump requests and responses, in clear text, to the requests subdirectory of the workspace',
  },
  'log-format': {
    type: 'string',
    default: 'text',
    choices: ['json', 'text'],
    group: specified,
    help: 'log format',
  },
  'log-level': {
    type: 'string',
    default: 'info',
    short: 'l',
    group: specified,
    help: 'debug, info, warn, error, or a number (-4, 0, 4, 8 are the four names)',
  },
  manifestPath: {
    type: 'string',
    group: specified,
    help: 'path of a manifest file; if unset the manifest is read from the remote source',
  },
  vendorOCSPAllowUnknown: {
    type: 'boolean',
    default: true,
    aliases: ['nvidiaOCSPAllowUnknown'],
    group: specified,
    help: 'tolerate the certificate status service being unreachable or giving no information',
  },
  vendorOCSPRevokedGracePeriod: {
    type: 'integer',
    default: 48,
    max: 24 * 365,
    aliases: ['nvidiaOCSPRevokedGracePeriod'],
    group: specified,
    help: 'hours for which attestation certificates reported revoked are still accepted; 0 rejects them at once',
  },
  port: { type: 'string', default: '8080', group: specified, help: 'listening port' },
  promptCacheSalt: {
    type: 'secret',
    group: specified,
    help: 'salt of at least 32 bytes isolating prompt caches; requires --sharedPromptCache; if empty, one random salt is used for all requests',
  },
  sharedPromptCache: {
    type: 'boolean',
    group: specified,
    help: 'share the prompt cache between all users of the proxy',
  },
  tlsCertPath: {
    type: 'string',
    group: specified,
    help: 'TLS certificate (PEM); with --tlsKeyPath the proxy serves HTTPS, and picks up a renewed file by itself',
  },
  tlsKeyPath: { type: 'string', group: specified, help: 'TLS private key (PEM)' },
  workspace: {
    type: 'string',
    default: '.',
    group: specified,
    help: 'directory where the proxy writes files, including the manifests subdirectory',
  },
  listenAddress: {
    type: 'string',
    default: '127.0.0.1',
    group: ours,
    help: 'address to listen on; 0.0.0.0 for all interfaces',
  },
  allowedHosts: {
    type: 'string',
    default: '',
    group: ours,
    help: 'comma-separated host names under which clients may address the proxy, besides loopback and IP addresses',
  },
  manifestEndpoint: {
    type: 'string',
    group: ours,
    help: 'where the manifest log is served: host:port or an https URL; if unset, the API endpoint serves it',
  },
  manifestLogKey: {
    type: 'string',
    orFile: true,
    group: ours,
    help: 'public key that signs the manifest log, or a policy that also names witnesses and their quorum (c2sp.org/tlog-policy); required unless --manifestPath is set',
  },
  manifestMaxAgeHours: {
    type: 'integer',
    default: 72,
    min: 1,
    max: 24 * 365,
    group: ours,
    help: "maximum age in hours of the manifest log's and witnesses' signatures; older ones make requests fail, since newer manifests may be withheld",
  },
  trafficShape: {
    type: 'string',
    default: 'default',
    choices: ['off', 'default', 'strict'],
    group: ours,
    help: 'how strongly the sizes and timing of encrypted messages are padded; strict calls take a minute or more',
  },
  workers: {
    type: 'integer',
    default: 1,
    min: 1,
    max: 64,
    group: ours,
    help: 'number of serving processes, each of which uses one core (more than one: Linux only)',
  },
  bodyLimitMib: {
    type: 'integer',
    default: 32,
    min: 1,
    max: 1024,
    group: ours,
    help: 'maximum size of a request body',
  },
  answerSilenceSeconds: {
    type: 'integer',
    default: 60,
    min: 1,
    max: 3600,
    group: ours,
    help: 'abort an answer that stalls for this long after its first byte; healthy streams send continuously',
  },
  answerLimitMinutes: {
    type: 'integer',
    default: 120,
    min: 1,
    max: 10_080,
    group: ours,
    help: 'maximum time from the first byte of an answer to its last',
  },
  drainSeconds: {
    type: 'integer',
    default: 30,
    max: 3600,
    group: ours,
    help: 'time for requests in flight to finish after SIGTERM or SIGINT',
  },
  receipts: {
    type: 'string',
    group: ours,
    help: 'file to which the signed receipt of every answer is appended, without content, to audit bills; rotated at 64 MiB, eight files are kept',
  },
  metrics: { type: 'boolean', group: ours, help: 'serve /metrics in Prometheus format' },
  cacheCheckMinutes: {
    type: 'integer',
    default: 0,
    max: 10_080,
    group: ours,
    help: 'how often to probe whether the backend isolates prompt caches, 0 for never; needs --apiKey, and each probe costs about 60,000 tokens per model',
  },
  allowSoftwareAttestation: {
    type: 'boolean',
    group: ours,
    help: 'accept workers without confidential hardware, for trials; needs --softwareRootFingerprint',
  },
  softwareRootFingerprint: {
    type: 'string',
    orFile: true,
    group: ours,
    help: 'SHA-256 of the one software attestation root to accept, 64 hex digits',
  },
  hosted: {
    type: 'boolean',
    group: ours,
    help: 'run as the proxyless endpoint: HTTPS, any origin, every request with its own key, one cache per key',
  },
  hostedSaltSecret: {
    type: 'secret',
    group: ours,
    help: 'secret of at least 32 bytes from which the cache salt of each API key is derived; needed with --hosted',
  },
  hostedManifestPath: {
    type: 'string',
    group: ours,
    help: 'deployment manifest of the proxyless endpoint, published under /privatemode/v1/deployment',
  },
} as const satisfies FlagTable

export const program: Program<typeof flags> = {
  name: 'privatemode-proxy',
  summary: 'Verifies the backend, encrypts prompts and decrypts responses for local applications.',
  version: '0.1.0',
  envPrefix: 'PRIVATEMODE_PROXY_',
  commands: {
    [`${agentNames.join('|')} [--model ID] [flags] [-- arguments of the agent]`]:
      'start a coding agent through the proxy on --port, or through a new one that stops with the agent',
  },
  flags,
}
