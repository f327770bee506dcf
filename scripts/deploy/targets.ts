/** The systems for which the proxy is built as a single file. */

export type Target = {
  /** Suffix of the file's name: `privatemode-proxy-linux-amd64`. */
  readonly name: string
  /** What Bun's compiler calls it. */
  readonly bunTarget: string
  /** The npm package that has the runtime; package-lock.json pins its bytes. */
  readonly runtimePackage: string
  readonly executable: 'privatemode-proxy' | 'privatemode-proxy.exe'
}

const unix = 'privatemode-proxy'

export const targets: readonly Target[] = [
  target('linux-amd64', 'linux-x64', unix),
  target('linux-arm64', 'linux-aarch64', unix),
  target('linux-amd64-musl', 'linux-x64-musl', unix),
  target('linux-arm64-musl', 'linux-aarch64-musl', unix),
  target('darwin-arm64', 'darwin-aarch64', unix),
  target('windows-amd64', 'windows-x64', 'privatemode-proxy.exe'),
]

function target(name: string, bunName: string, executable: Target['executable']): Target {
  return {
    name,
    bunTarget: `bun-${bunName.replace('aarch64', 'arm64')}`,
    runtimePackage: `@oven/bun-${bunName}`,
    executable,
  }
}

export function findTarget(name: string): Target {
  const found = targets.find((entry) => entry.name === name)
  if (found !== undefined) return found
  const names = targets.map((entry) => entry.name).join(', ')
  throw new Error(`there is no target ${name}; choose from ${names}`)
}
