/** The registry that the page calls `registry.internal`: images and charts are pushed to it, and the node pulls them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Parts, untilReady } from '../confined/parts.ts'
import { nodeAddress } from '../confined/prepare-namespaces.ts'
import type { TestImage } from '../confined/program-image.ts'

export const registryName = 'registry.internal'

/** Settings for programs of the page, which would find the authority among those of the system. */
export const registryEnv = (parts: Parts): Record<string, string> => ({
  SSL_CERT_FILE: join(parts.work, 'pki/ca.crt'),
})

export async function startRegistry(parts: Parts, program: string): Promise<void> {
  const pki = join(parts.work, 'pki')
  nameRegistry(parts)
  parts.write('config/certs.d/registry.internal/hosts.toml', hosts(pki))
  // As distributions install it with skopeo: whose signatures are wanted.
  parts.write(
    'home/.config/containers/policy.json',
    '{"default":[{"type":"insecureAcceptAnything"}]}',
  )
  const config = parts.write('config/registry.json', JSON.stringify(registryConfig(parts, pki)))
  parts.start('registry', [program, 'serve', config])
  const asked = ['curl', '--silent', '--fail', '--cacert', join(pki, 'ca.crt')]
  await untilReady('the registry', () => {
    return Bun.spawnSync([...asked, `https://${registryName}/v2/`]).exitCode === 0
  })
}

/** What is not ours is pushed as the page says of vLLM: by hand. */
export function pushImage(parts: Parts, { path, name, tag }: TestImage): void {
  const { exitCode, stderr } = Bun.spawnSync(
    [
      ...['skopeo', 'copy', `oci-archive:${path}:${name}:${tag}`],
      `docker://${registryName}/${name}:${tag}`,
    ],
    { env: { ...process.env, ...registryEnv(parts) } },
  )
  if (exitCode !== 0) throw new Error(`skopeo copy ${name}: ${stderr.toString().trim()}`)
}

/** Only in this namespace. */
function nameRegistry(parts: Parts): void {
  const own = `${readFileSync('/etc/hosts', 'utf8')}\n${nodeAddress} ${registryName}\n`
  const file = parts.write('config/hosts', own)
  const { exitCode, stderr } = Bun.spawnSync(['mount', '--bind', file, '/etc/hosts'])
  if (exitCode !== 0) throw new Error(`/etc/hosts: ${stderr.toString().trim()}`)
}

const hosts = (pki: string) => `server = "https://${registryName}"

[host."https://${registryName}"]
  capabilities = ["pull", "resolve"]
  ca = "${join(pki, 'ca.crt')}"
`

/** JSON is YAML. */
function registryConfig(parts: Parts, pki: string): object {
  return {
    version: '0.1',
    log: { level: 'warn', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: parts.folder('registry') } },
    http: {
      addr: `${nodeAddress}:443`,
      tls: { certificate: join(pki, 'registry.crt'), key: join(pki, 'registry.key') },
    },
  }
}
