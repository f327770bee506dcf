/** Other people's calculators of SNP launch digests, to compare ours with: sev-snp-measure (PyPI), snpguest (crates.io). */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CpuModel } from '@privatemode/attestation/measure'
import { measureSnp } from '../../apps/verify/src/measure/measurements.ts'
import { toolCache } from '../../scripts/deploy/go-tools.ts'

type Shape = { readonly cpu: CpuModel; readonly vcpus: number }

type Calculator = {
  readonly name: string
  readonly version: string
  /** The program in its folder. */
  readonly program: string
  /** What it is installed with; without that, nothing is compared. */
  readonly requires: string
  readonly install: (folder: string, version: string) => readonly (readonly string[])[]
  readonly args: (files: Files, shape: Shape) => readonly string[]
}

type Files = { readonly [name in 'firmware' | 'kernel' | 'initrd' | 'commandLine']: string }

const shapes: readonly Shape[] = (
  ['EPYC-v4', 'EPYC-Milan', 'EPYC-Genoa', 'EPYC-Turin'] as const
).flatMap((cpu) => [1, 2, 8, 64].map((vcpus) => ({ cpu, vcpus })))

const calculators: readonly Calculator[] = [
  {
    ...{ name: 'sev-snp-measure', version: '0.0.13', program: 'bin/sev-snp-measure' },
    requires: 'python3',
    install: (folder, version) => [
      ['python3', '-m', 'venv', folder],
      [join(folder, 'bin/pip'), 'install', '-q', `sev-snp-measure==${version}`],
    ],
    args: ({ firmware, kernel, initrd, commandLine }, { cpu, vcpus }) => [
      ...['--mode', 'snp', '--vcpus', `${vcpus}`, '--vcpu-type', cpu, '--ovmf', firmware],
      ...['--kernel', kernel, '--initrd', initrd, '--append', commandLine],
    ],
  },
  {
    ...{ name: 'snpguest', version: '0.11.0', program: 'bin/snpguest' },
    requires: 'cargo',
    install: (folder, version) => [
      ['cargo', 'install', '-q', '--locked', 'snpguest', '--version', version, '--root', folder],
    ],
    args: ({ firmware, kernel, initrd, commandLine }, { cpu, vcpus }) => [
      ...['generate', 'measurement', '--vcpus', `${vcpus}`, '--vcpu-type', cpu],
      ...['--vmm-type', 'QEMU', '--ovmf', firmware, '--kernel', kernel, '--initrd', initrd],
      ...['--append', commandLine, '--guest-features', '0x1'],
    ],
  },
]

/** Throws if a calculator disagrees; one that cannot be installed here is named in the result. */
export async function compareCalculators(machine: string): Promise<string> {
  const files = {
    firmware: join(machine, 'firmware-snp.fd'),
    kernel: join(machine, 'kernel'),
    initrd: join(machine, 'initrd'),
    commandLine: readFileSync(join(machine, 'cmdline'), 'utf8'),
  }
  const read = (path: string) => new Uint8Array(readFileSync(path))
  const boot = { ...files, kernel: read(files.kernel), initrd: read(files.initrd) }
  const ours = await measureSnp(
    read(files.firmware),
    boot,
    shapes.map((shape) => ({ ...shape, hypervisor: 'qemu' as const, sevFeatures: 1n })),
  )
  const results = calculators.map((calculator) => {
    const { name, version, requires } = calculator
    const program = obtain(calculator)
    if (program === undefined) return `${name} not compared: it requires ${requires}`
    for (const { cpu, vcpus, measurement } of ours) {
      const seen = run([program, ...calculator.args(files, { cpu: cpu as CpuModel, vcpus })])
      const digest = /[0-9a-f]{96}/.exec(seen)?.[0]
      if (digest !== measurement)
        throw new Error(`${name}: ${cpu} with ${vcpus} vCPUs is ${digest}, ours ${measurement}`)
    }
    return `${name} ${version}: ${ours.length} shapes equal`
  })
  return results.join('; ')
}

/** Installed once; cargo compiles for some minutes. */
function obtain({ name, version, program, requires, install }: Calculator): string | undefined {
  const folder = join(toolCache(), `${name}-${version}`)
  const path = join(folder, program)
  if (existsSync(path)) return path
  if (Bun.which(requires) === null) return undefined
  for (const command of install(folder, version)) run(command)
  return path
}

function run(command: readonly string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command])
  if (exitCode === 0) return stdout.toString()
  throw new Error(`${command.slice(0, 3).join(' ')}: ${stderr.toString().slice(-500)}`)
}
