/** The basis of trust changes under load: manifests, their log, certificates. */

import { cpSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLocalAuthority } from '@privatemode/service'
import { freePort } from '@privatemode/service/testing'
import { makeBuild } from '../../deploy/worker-builds.ts'
import type { Fault } from '../fault.ts'
import { type Fleet, registerToken, soon } from '../fleet/fleet.ts'
import { otherMeasurement } from '../fleet/manifests.ts'
import { Part } from '../fleet/part.ts'
import { makeQuestion } from '../load/question.ts'
import { exchange } from '../load/raw-exchange.ts'
import { judge } from '../load/verdict.ts'

/** Another build of the worker takes over under a new manifest, which the proxy has to find. */
const manifestChange: Fault = {
  name: 'the manifest changes with the build of all workers',
  family: 'trust',
  holdMs: 6_000,
  limitMs: 30_000,
  mayLoseReports: true,
  async inject({ fleet, note }) {
    const build = await makeBuild('other', fleet.engine.url)
    const { trust, measurement, models } = fleet
    note(`manifest ${await trust.publish([measurement, build.measurement], models)}`)
    const worker = await build.start([
      ...['--port', `${freePort()}`, '--gatewayUrl', fleet.front.url],
      ...['--registerToken', registerToken, '--softwareIdentity', trust.identityPath],
    ])
    await Promise.all(fleet.workers.map((part) => part.end()))
    return async () => {
      await Promise.all(fleet.workers.map((part) => part.start()))
      await worker.stop()
      build.remove()
    }
  },
  check: async ({ fleet }) =>
    enforcedFiles(fleet).length >= 2 ? [] : ['the proxy has not recorded the new manifest'],
}

/** The log shows the proxy a different history, signed with its own key: nothing may be sealed then. */
function forkedLog(): Fault {
  const violations: string[] = []
  return {
    name: 'the manifest log forks',
    family: 'trust',
    holdMs: 4_000,
    limitMs: 30_000,
    obstacle: (fleet) => (fleet.clocks === undefined ? 'libfaketime is not installed' : undefined),
    async inject({ fleet, note }) {
      violations.length = 0
      const { trust, measurement, models } = fleet
      const [saved, real] = [`${trust.logDir}.saved`, `${trust.logDir}.real`]
      cpSync(trust.logDir, saved, { recursive: true })
      const serial = await trust.publish([measurement, otherMeasurement(measurement, '11')], models)
      await pass(fleet, 400)
      const before = await until(fleet, 'serial', serial)
      renameSync(trust.logDir, real)
      renameSync(saved, trust.logDir)
      trust.rewind()
      await trust.publish([measurement, otherMeasurement(measurement, forkedByte)], models)
      await pass(fleet, 800)
      const refused = await until(fleet, 'log_refused', 'log_forked')
      const after = (await shownManifest(fleet))?.serial
      if (refused !== 'log_forked') violations.push('the proxy did not refuse the forked log')
      if (before !== serial) throw new Error(`the proxy did not take manifest ${serial}`)
      note(`manifest ${before} of ${serial} before the fork, ${after} after it: ${refused}`)
      return async () => {
        rmSync(trust.logDir, { recursive: true })
        renameSync(real, trust.logDir)
        await pass(fleet, 0)
      }
    },
    check: async ({ fleet }) => {
      const forked = otherMeasurement(fleet.measurement, forkedByte)
      const enforced = enforcedFiles(fleet).some((text) => text.includes(forked))
      return enforced ? [...violations, 'a manifest of the forked log was enforced'] : violations
    },
  }
}

type Shown = { readonly serial?: unknown; readonly log_refused?: unknown }

/** Waits until the proxy reports this of its manifest; returns what it reports in the end. */
async function until(fleet: Fleet, fact: keyof Shown, wanted: unknown): Promise<unknown> {
  for (const endMs = performance.now() + 20_000; performance.now() < endMs; ) {
    if ((await shownManifest(fleet))?.[fact] === wanted) break
    await Bun.sleep(200)
  }
  return (await shownManifest(fleet))?.[fact]
}

/** What the proxy reports about the manifest that it enforces. */
async function shownManifest(fleet: Fleet): Promise<Shown | undefined> {
  const url = `http://127.0.0.1:${fleet.proxyPort}/privatemode/v1/verification`
  return ((await (await fetch(url, soon())).json()) as { manifest?: Shown }).manifest
}

const forkedByte = 'f0'

/** The proxy looks for a new manifest every five minutes: all clocks are advanced by that. */
async function pass(fleet: Fleet, seconds: number): Promise<void> {
  for (const { name } of fleet.parts) fleet.clocks?.set(name, seconds)
  await Bun.sleep(4_000)
}

function enforcedFiles(fleet: Fleet): string[] {
  const folder = join(fleet.folder, 'workspace/manifests')
  return readdirSync(folder)
    .filter((name) => name.startsWith('manifest-'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
}

const dayMs = 86_400_000
const between = (fromDays: number, toDays: number) => ({
  notBefore: new Date(Date.now() + fromDays * dayMs),
  notAfter: new Date(Date.now() + toDays * dayMs),
})

/** A second proxy with TLS gets an expired certificate file, then a valid one again. */
function expiredTls(): Fault {
  const violations: string[] = []
  return {
    name: "the proxy's TLS certificate is replaced by an expired one",
    family: 'trust',
    holdMs: 0,
    limitMs: 20_000,
    async inject({ fleet, chance, note }) {
      violations.length = 0
      const good = createLocalAuthority('good', between(-1, 30))
      const old = createLocalAuthority('old', between(-30, -1))
      const paths = { cert: join(fleet.folder, 'tls.pem'), key: join(fleet.folder, 'tls-key.pem') }
      const install = (authority: typeof good) => {
        const { certPem, keyPem } = authority.issue(['localhost'])
        writeFileSync(paths.cert, certPem)
        writeFileSync(paths.key, keyPem)
      }
      const port = freePort()
      const target = { port, ca: good.certPem + old.certPem }
      const ask = async () => {
        const shape = { kind: 'chat', stream: true, words: 5, paceMs: 1, padBytes: 0 } as const
        const question = makeQuestion(fleet.marker, `tls-${chance.between(0, 2 ** 31)}`, shape)
        const { path, body } = question
        return judge(question, await exchange(target, { path, body, timeoutMs: 5_000 })).kind
      }
      const until = async (wanted: string) => {
        for (const endMs = performance.now() + 20_000; performance.now() < endMs; ) {
          if ((await ask()) === wanted) return
          await Bun.sleep(100)
        }
        violations.push(`with TLS there was no answer of the kind "${wanted}"`)
      }
      install(good)
      const proxy = new Part({
        ...fleet.proxy.options,
        name: 'proxy-tls',
        logPath: join(fleet.folder, 'logs/proxy-tls.log'),
        command: replaced(fleet.proxy.options.command, {
          '--port': `${port}`,
          '--workspace': join(fleet.folder, 'workspace-tls'),
        }).concat('--tlsCertPath', paths.cert, '--tlsKeyPath', paths.key),
        isReady: async () =>
          (await fetch(`https://localhost:${port}/ready`, { tls: target, ...soon() })).ok,
      })
      try {
        await proxy.start()
        await until('right')
        install(old)
        await until('error')
        if ((await ask()) !== 'error') violations.push('a client took an expired certificate')
        install(good)
        await until('right')
        note('refused while expired, taken when renewed, no restart')
      } finally {
        await proxy.end()
      }
      return () => {}
    },
    check: async () => violations,
  }
}

function replaced(command: readonly string[], values: Record<string, string>): string[] {
  return command.map((word, index) => values[command[index - 1] ?? ''] ?? word)
}

export const trustFaults: readonly Fault[] = [manifestChange, forkedLog(), expiredTls()]
