/** The table of the gateway's flags. */
import type { FlagTable, Program } from '@privatemode/service'

const flags = {
  port: {
    type: 'integer',
    default: 8090,
    max: 65535,
    help: 'port to listen on',
    group: 'Listening',
  },
  host: { type: 'string', default: '127.0.0.1', help: 'address to listen on', group: 'Listening' },
  tlsCertPath: {
    type: 'string',
    help: 'PEM certificate chain; with tlsKeyPath, serve HTTPS',
    group: 'Listening',
  },
  tlsKeyPath: { type: 'string', help: 'PEM private key of the certificate', group: 'Listening' },
  dataDir: {
    type: 'string',
    default: '.privatemode/gateway',
    help: 'directory of the embedded database',
    group: 'State',
  },
  databaseUrl: {
    type: 'secret',
    help: 'PostgreSQL to use instead of the embedded database, or @path of a file that has it; DATABASE_URL is read, too',
    group: 'State',
  },
  databaseConnections: {
    type: 'integer',
    default: 8,
    min: 2,
    max: 1000,
    help: 'connections to PostgreSQL',
    group: 'State',
  },
  operatorToken: {
    type: 'secret',
    help: 'token of workers and of the admin API, or @path of a file that has it; at least 32 characters',
    group: 'Access',
  },
  logDir: { type: 'string', help: 'directory of the manifest log to serve', group: 'Files' },
  portalDir: { type: 'string', help: 'directory of the built portal to serve', group: 'Files' },
  metrics: {
    type: 'boolean',
    default: false,
    help: 'serve Prometheus metrics at /metrics',
    group: 'Watching',
  },
  logFormat: {
    type: 'string',
    default: 'text',
    choices: ['text', 'json'],
    help: 'form of the log',
    group: 'Watching',
  },
  logLevel: {
    type: 'string',
    default: 'info',
    help: 'lowest level that is logged',
    group: 'Watching',
  },
  maxBodyBytes: {
    type: 'integer',
    default: 36 * 1024 * 1024,
    help: 'largest sealed request',
    group: 'Limits',
  },
  maxHeldBodyBytes: {
    type: 'integer',
    default: 2 * 1024 * 1024,
    help: 'largest request that can be sent to a second worker when the first fails',
    group: 'Limits',
  },
  maxHeldBodyBytesTotal: {
    type: 'integer',
    default: 256 * 1024 * 1024,
    help: 'all requests held at once',
    group: 'Limits',
  },
  maxRequests: {
    type: 'integer',
    default: 8192,
    min: 1,
    help: 'requests and streams at once; more get 503',
    group: 'Limits',
  },
  maxAttempts: {
    type: 'integer',
    default: 3,
    min: 1,
    max: 8,
    help: 'workers to ask for one request',
    group: 'Limits',
  },
  firstByteTimeoutMs: {
    type: 'integer',
    default: 300_000,
    min: 1,
    help: 'time a worker has to begin its answer',
    group: 'Limits',
  },
  attestationTimeoutMs: {
    type: 'integer',
    default: 30_000,
    min: 1,
    help: 'time a worker has for its evidence',
    group: 'Limits',
  },
  leaseSeconds: {
    type: 'integer',
    default: 6,
    min: 1,
    max: 3600,
    help: 'a worker that is silent for this long is gone',
    group: 'Limits',
  },
  drainMs: {
    type: 'integer',
    default: 30_000,
    help: 'time that running requests have when the gateway stops',
    group: 'Limits',
  },
} as const satisfies FlagTable

export const program: Program<typeof flags> = {
  name: 'privatemode-gateway',
  summary: 'the public edge: keys, quotas, metering and routing of requests it cannot read',
  version: '0.1.0',
  envPrefix: 'PRIVATEMODE_GATEWAY_',
  flags,
}
