/** Third-party LLM gateways, installed with pinned versions into a separate cache. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { models } from '../load/load-spec.ts'
import { freePort, root, startChild, untilAnswers } from './child.ts'
import type { Place } from './plain-proxies.ts'
import { jsonType, partOf, type Skipped, type Target } from './target.ts'

export const peerVersions = {
  '@portkey-ai/gateway': '1.15.2',
  '@musistudio/llms': '1.0.53',
  litellm: '1.106.2',
} as const

const cache = process.env.PRIVATEMODE_BENCH_CACHE ?? join(root, '.privatemode/bench')
const npmFolder = join(cache, 'npm')
const pythonFolder = join(cache, 'litellm')
const npmWithinMs = 240_000
const pythonWithinMs = 480_000
const startWithinMs = 30_000
const pythonStartsWithinMs = 120_000
const node = Bun.which('node')

/** Installs what is missing; targets that cannot be installed are skipped later. */
export async function installGateways(withPython: boolean): Promise<void> {
  mkdirSync(npmFolder, { recursive: true })
  const isThere = (name: string) => existsSync(join(npmFolder, 'node_modules', name))
  const npmNames = ['@portkey-ai/gateway', '@musistudio/llms'] as const
  if (!npmNames.every(isThere)) {
    // With newer versions of this one, Portkey answers every stream with 500.
    const manifest = { private: true, overrides: { '@hono/node-server': '1.11.5' } }
    writeFileSync(join(npmFolder, 'package.json'), JSON.stringify(manifest))
    const wanted = npmNames.map((name) => `${name}@${peerVersions[name]}`)
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--save-exact']
    await attempt(['npm', 'install', ...options, ...wanted], npmFolder, npmWithinMs)
  }
  const python = Bun.which('python3')
  if (!withPython || python === null || existsSync(join(pythonFolder, 'bin/litellm'))) return
  await attempt([python, '-m', 'venv', pythonFolder], cache, npmWithinMs)
  const wanted = `litellm[proxy]==${peerVersions.litellm}`
  await attempt([join(pythonFolder, 'bin/pip'), 'install', '-q', wanted], cache, pythonWithinMs)
}

async function attempt(command: string[], cwd: string, limitMs: number): Promise<void> {
  const child = Bun.spawn(command, { cwd, stdio: ['ignore', 'ignore', 'ignore'] })
  const timer = setTimeout(() => child.kill(), limitMs)
  await child.exited
  clearTimeout(timer)
}

export async function startPortkey({ modelPort }: Place): Promise<Target | Skipped> {
  const program = join(npmFolder, 'node_modules/@portkey-ai/gateway/build/start-server.js')
  if (node === null || !existsSync(program)) return { name: 'portkey', why: 'npm did not get it' }
  const port = freePort()
  const command = [node, program, `--port=${port}`, '--headless']
  const child = startChild('portkey', 'measured', command, { NODE_ENV: 'production' }, npmFolder)
  const headers = {
    ...jsonType,
    authorization: 'Bearer none',
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `http://127.0.0.1:${modelPort}/v1`,
  }
  await untilAnswers(`http://127.0.0.1:${port}/`, startWithinMs)
  return { name: 'portkey', port, headers, parts: [partOf(child)] }
}

const llmsProgram = `const { default: Server } = require('@musistudio/llms')
const [port, url] = process.argv.slice(2)
const provider = { name: 'bench', api_base_url: url, api_key: 'none', models: ${JSON.stringify(Object.values(models))} }
const initialConfig = { HOST: '127.0.0.1', PORT: Number(port), LOG: false, providers: [provider] }
void new Server({ useJsonFile: false, useEnvFile: false, initialConfig, logger: false }).start()
`

export async function startLlms({ modelPort }: Place): Promise<Target | Skipped> {
  if (node === null || !existsSync(join(npmFolder, 'node_modules/@musistudio/llms'))) {
    return { name: 'llms', why: 'npm did not get it' }
  }
  const program = join(npmFolder, 'llms.cjs')
  writeFileSync(program, llmsProgram)
  const port = freePort()
  const url = `http://127.0.0.1:${modelPort}/v1/chat/completions`
  const child = startChild('llms', 'measured', [node, program, String(port), url], {}, npmFolder)
  await untilAnswers(`http://127.0.0.1:${port}/`, startWithinMs)
  return { name: 'llms', port, headers: jsonType, modelPrefix: 'bench,', parts: [partOf(child)] }
}

export async function startLitellm({ folder, modelPort }: Place): Promise<Target | Skipped> {
  const program = join(pythonFolder, 'bin/litellm')
  if (!existsSync(program)) return { name: 'litellm', why: 'Python did not get it' }
  const list = Object.values(models).map((name) => ({
    model_name: name,
    litellm_params: {
      model: `openai/${name}`,
      api_base: `http://127.0.0.1:${modelPort}/v1`,
      api_key: 'none',
    },
  }))
  const config = join(folder, 'litellm.json.yaml')
  writeFileSync(config, JSON.stringify({ model_list: list }))
  const port = freePort()
  const options = ['--host', '127.0.0.1', '--port', String(port), '--num_workers', '1']
  const offline = {
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    LITELLM_TELEMETRY: 'False',
    // Without a key of its own it does not start otherwise.
    LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY: 'true',
  }
  const child = startChild(
    'litellm',
    'measured',
    [program, '--config', config, ...options],
    offline,
  )
  await untilAnswers(`http://127.0.0.1:${port}/health/liveliness`, pythonStartsWithinMs, 200)
  return { name: 'litellm', port, headers: jsonType, parts: [partOf(child)] }
}
