/** The section "One machine with compose" of docs/operations.md, with every container restarted and killed under traffic. */
import { cpSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { startScriptedServer } from '../../packages/inference/src/testing/scripted-server.ts'
import { repository } from '../../scripts/deploy/locked-package.ts'
import { type Parts, untilReady } from '../confined/parts.ts'
import { must, type Rows } from '../confined/rows.ts'
import { codeBlocks } from '../documents/code-blocks.ts'
import type { Engine } from './engine.ts'

const services = ['postgres', 'gateway', 'worker', 'proxy']
const proxyUrl = 'http://127.0.0.1:8080'
const compose = ['compose', '--file', 'deploy/compose.yaml']

export async function tryCompose(
  engine: Engine,
  rows: Rows,
  parts: Parts,
  postgres: string,
): Promise<void> {
  // Containers reach it by the address of the engine's own network.
  const server = startScriptedServer(
    { models: ['org/chat-1'] },
    { port: 8000, hostname: '0.0.0.0' },
  )
  const folder = checkout(parts.folder('checkout'))
  const [steps, start] = codeBlocks(readFileSync(join(repository, 'docs/operations.md'), 'utf8'))
    .filter(({ heading }) => heading === 'One machine with compose')
    .map(({ text }) => text)
  let secret = ''
  try {
    await rows.try('compose: the steps of the page', async () => {
      await engine.run('load', '--input', postgres)
      await engine.shell(steps ?? 'false', folder)
      return 'secrets, certificates, manifest, log and .env are there'
    })
    const isUp = await rows.try('compose: up, a first key, and its models', async () => {
      // The key is printed by one command and asked with in the next one.
      const [up = '', ...rest] = (start ?? '').replaceAll('\\\n', ' ').trim().split('\n')
      await engine.shell(up, folder)
      const [create = '', ask = ''] = rest
      await untilReady('the gateway', () => fetchStatus('http://127.0.0.1:8080/health'), 180_000)
      secret = JSON.parse(await untilSaid(engine, create, folder)).secret
      const models = await untilSaid(engine, ask.replace('SECRET', secret), folder)
      must(models.includes('org/chat-1'), models)
      return models.slice(0, 120)
    })
    if (!isUp)
      throw new Error(await engine.shell(`docker ${compose.join(' ')} logs --tail 20`, folder))
    await rows.try('compose: a sealed question is answered', () => ask(secret))
    await rows.try(
      'compose: our containers have no rights and a root that cannot be written',
      async () => {
        for (const service of services.filter((name) => name !== 'postgres')) {
          const said = await inspect(
            engine,
            service,
            '{{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}}',
          )
          must(said === 'true [ALL]', `${service}: ${said}`)
        }
        return 'read-only, no capabilities'
      },
    )
    for (const service of services) {
      await rows.try(`compose: ${service} is restarted under traffic`, () =>
        upset(engine, secret, service, () =>
          engine.shell(`docker ${compose.join(' ')} restart ${service}`, folder),
        ),
      )
      await rows.try(`compose: ${service} is killed under traffic`, () =>
        upset(engine, secret, service, async () => {
          process.kill(Number(await inspect(engine, service, '{{.State.Pid}}')), 'SIGKILL')
        }),
      )
    }
    await rows.try('compose: down leaves no container, network or volume', async () => {
      await engine.shell(`docker ${compose.join(' ')} down --volumes`, folder)
      const left = [
        await engine.run('ps', '--all', '--quiet'),
        await engine.run('volume', 'ls', '--quiet'),
        await engine.run('network', 'ls', '--quiet', '--filter', 'type=custom'),
      ].join('')
      must(left === '', `left: ${left}`)
      return 'nothing'
    })
  } catch (error) {
    console.log(`${(error as Error).message}`)
  } finally {
    await server.stop()
  }
}

/** The checkout, but with a folder `deploy` that can be written. */
function checkout(folder: string): string {
  for (const name of readdirSync(repository)) {
    if (name === 'deploy') cpSync(join(repository, name), join(folder, name), { recursive: true })
    else if (name !== '.git') symlinkSync(join(repository, name), join(folder, name))
  }
  return folder
}

/** A service that has just been started may refuse the first tries. */
async function untilSaid(engine: Engine, script: string, folder: string): Promise<string> {
  let said = ''
  let last: unknown
  await untilReady(script.slice(0, 80), async () => {
    try {
      said = await engine.shell(
        script.replace('curl ', 'curl --fail --silent --show-error '),
        folder,
      )
      return true
    } catch (error) {
      last = error
      return false
    }
  }).catch((error) => {
    throw new Error(`${error.message}: ${last}`)
  })
  return said
}

function inspect(engine: Engine, service: string, format: string): Promise<string> {
  return engine.run('inspect', '--format', format, `privatemode-${service}-1`)
}

/** Asks all the time while one container goes away: it must come back by itself, and nobody else may have to be touched. */
async function upset(
  engine: Engine,
  secret: string,
  service: string,
  act: () => Promise<unknown>,
): Promise<string> {
  let stopped = false
  let answered = 0
  let lost = 0
  const clients = Array.from({ length: 3 }, async () => {
    while (!stopped) {
      const isAnswered = await ask(secret).then(
        () => true,
        () => false,
      )
      if (isAnswered) answered++
      else lost++
      // A refusal takes no time, and clients that do not wait only keep the others from coming back.
      if (!isAnswered) await Bun.sleep(200)
    }
  })
  const before = await Promise.all(services.map((name) => inspect(engine, name, '{{.State.Pid}}')))
  const started = performance.now()
  try {
    await act()
    await untilReady(
      `an answer after ${service} went`,
      async () => {
        const pid = await inspect(engine, service, '{{.State.Pid}}')
        const isNew = pid !== '0' && pid !== before[services.indexOf(service)]
        return (
          isNew &&
          (await ask(secret).then(
            () => true,
            () => false,
          ))
        )
      },
      180_000,
    )
  } finally {
    stopped = true
    await Promise.all(clients)
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  const after = await Promise.all(services.map((name) => inspect(engine, name, '{{.State.Pid}}')))
  const others = services.filter(
    (name, index) => name !== service && after[index] !== before[index],
  )
  must(others.length === 0, `${others.join(', ')} had to start again, too`)
  return `answers again after ${seconds} s; ${answered} answered, ${lost} refused meanwhile`
}

async function ask(secret: string): Promise<string> {
  const response = await fetch(`${proxyUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
    body: '{"model":"org/chat-1","messages":[{"role":"user","content":"[[say all is well]]"}]}',
    signal: AbortSignal.timeout(20_000),
  })
  const text = await response.text()
  must(
    response.status === 200 && text.includes('all is well'),
    `${response.status} ${text.slice(0, 200)}`,
  )
  return 'all is well'
}

async function fetchStatus(url: string): Promise<boolean> {
  return (await fetch(url).catch(() => undefined))?.ok ?? false
}
