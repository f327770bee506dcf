/**
 * A confidential machine of test vendors: kernel, GPUs and services, wired as a worker sees them.
 */
import { resolve } from 'node:path'
import type { Roots, VerifyWorkerInputs } from '@privatemode/attestation'
import { createLog } from '@privatemode/service'
import {
  type HardwareWorld,
  hardwareWorld,
} from '../../../../../packages/attestation/src/testing/hardware-world.ts'
import { testNow } from '../../../../../packages/attestation/src/testing/test-authority.ts'
import { parseSettings } from '../../settings.ts'
import { chooseEvidence } from '../choose-evidence.ts'
import type { EvidenceSource } from '../evidence-source.ts'
import { type FakeKernel, type FakeKernelOptions, fakeKernel } from './fake-kernel.ts'
import { type FakeVendors, fakeVendors } from './fake-vendors.ts'

export type TestMachine = {
  readonly world: HardwareWorld
  readonly vendors: FakeVendors
  readonly clock: { now: Date }
  /** Log lines, as written. */
  readonly lines: string[]
  readonly roots: Roots
  /** Everything a verification needs besides the evidence. */
  inputs(): Promise<VerifyWorkerInputs>
  kernel(cpu: 'snp' | 'tdx', change?: Partial<FakeKernelOptions>): FakeKernel
  /** Chooses evidence from flags, as a starting worker does. */
  choose(tree: FakeKernel, ...flags: string[]): Promise<EvidenceSource>
  dispose(): void
}

const tool = resolve(import.meta.dir, 'fake-gpu-tool.ts')

export async function testMachine(): Promise<TestMachine> {
  const world = await hardwareWorld()
  const vendors = await fakeVendors(world)
  const { roots } = await world.inputs()
  const clock = { now: testNow }
  const lines: string[] = []
  const open: { close(): void }[] = []
  const kernels: FakeKernel[] = []
  const now = () => clock.now
  const write = (text: string) => lines.push(...text.trim().split('\n'))
  const log = createLog({ format: 'text', level: -4, write, now })
  const providers = { snp: 'sev_guest', tdx: 'tdx_guest' } as const
  return {
    world,
    vendors,
    clock,
    lines,
    roots,
    inputs: () => world.inputs(),
    kernel(cpu, change = {}) {
      const report: FakeKernelOptions['report'] = (inblob) =>
        cpu === 'snp'
          ? world.amd.signReport({ patches: [{ at: 0x50, bytes: inblob }] })
          : world.intel.makeQuote({ reportData: inblob })
      const kernel = fakeKernel({ provider: providers[cpu], report, ...change })
      kernels.push(kernel)
      return kernel
    },
    async choose(tree, ...flags) {
      const { url } = vendors
      const addresses = ['amdKds', 'intelPcs', 'intelRootCrl', 'nvidiaRim', 'nvidiaOcsp']
      const paths = ['/kds/', '/pcs', '/root-crl', '/rim', '/ocsp']
      const args = [
        ...addresses.flatMap((name, index) => [`--${name}Url`, `${url}${paths[index]}`]),
        ...['--gpuCommand', `${process.execPath} ${tool} print ${url}/gpu?nonce={nonce}`],
        ...['--engineUrl', 'http://127.0.0.1:1'],
        ...flags,
      ]
      const parsed = parseSettings({ args, env: {} })
      if (parsed.kind !== 'settings') throw new Error('expected settings')
      const source = await chooseEvidence(parsed.settings.attestation, {
        env: {},
        fetch: (target, init) => fetch(target, init),
        log,
        now,
        machine: { tree, roots },
      })
      log.flush()
      open.push(source)
      return source
    },
    dispose() {
      for (const source of open) source.close()
      for (const kernel of kernels) kernel.dispose()
      vendors.stop()
    },
  }
}
