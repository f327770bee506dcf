/** llama.cpp's server from Debian's packages: unpacked into a folder and run by their own loader, not installed. */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder, run } from './install.ts'
import { writeGguf } from './model/write-gguf.ts'
import { modelName, type ServerPlan } from './real-server.ts'
import { modelFolder } from './vllm.ts'

const packages = [
  ...['libc6', 'libgcc-s1', 'libstdc++6', 'libgomp1', 'libssl3t64', 'zlib1g', 'libzstd1'],
  ...['libggml0', 'libllama0', 'llama.cpp-tools'],
]
const folder = join(cacheFolder, 'llama-server')
const model = join(cacheFolder, 'tiny.gguf')
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg'

/** Returns the folder with its programs and libraries. */
export async function installLlamaServer(): Promise<string> {
  const root = join(folder, 'root')
  const done = join(folder, 'installed')
  if (existsSync(done)) return root
  console.log(`taking llama-server from Debian's packages into ${folder} (20 MB, once) …`)
  rmSync(folder, { recursive: true, force: true })
  for (const name of ['state/lists/partial', 'cache/archives/partial', 'etc', 'debs', 'root'])
    mkdirSync(join(folder, name), { recursive: true })
  // The mirror is the one that this machine has; the signature is checked as always.
  const sites = await run([
    'apt-get',
    'indextargets',
    '--format',
    '$(SITE)',
    'Created-By: Packages',
  ])
  const [site] = sites.split('\n').filter((line) => line.endsWith('/debian'))
  const list = join(folder, 'etc', 'sources.list')
  writeFileSync(list, `deb [signed-by=${keyring}] ${site} sid main\n`)
  const places = {
    'Dir::Etc': join(folder, 'etc'),
    'Dir::Etc::sourcelist': list,
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::State': join(folder, 'state'),
    'Dir::State::status': '/dev/null',
    'Dir::Cache': join(folder, 'cache'),
  }
  const apt = ['apt-get', '-qq', ...Object.entries(places).flatMap(([k, v]) => ['-o', `${k}=${v}`])]
  await run([...apt, 'update'])
  const debs = join(folder, 'debs')
  await run([...apt, 'download', ...packages], debs)
  for (const name of readdirSync(debs)) await run(['dpkg-deb', '-x', join(debs, name), root])
  writeFileSync(done, '')
  return root
}

export function llamaServerPlan(root: string): ServerPlan {
  const libraries = join(root, 'usr/lib/x86_64-linux-gnu')
  mkdirSync(cacheFolder, { recursive: true })
  writeGguf(modelFolder, model)
  return {
    name: 'llama-server',
    kind: 'llama-server',
    variants: ['chat', 'embed'],
    command: (variant, port) => [
      ...[join(libraries, 'ld-linux-x86-64.so.2'), '--library-path'],
      ...[`${libraries}:${join(libraries, 'llama')}`, join(root, 'usr/bin/llama-server')],
      ...['--model', model, '--alias', modelName, '--host', '127.0.0.1', '--port', `${port}`],
      ...['--ctx-size', '32768', '--parallel', '8', '--threads', '1', '--metrics', '--jinja'],
      ...(variant === 'embed' ? ['--embeddings', '--pooling', 'mean'] : []),
    ],
    environment: () => ({}),
    // Where it looks for the code of this machine's processor.
    directory: join(libraries, 'ggml/backends0'),
    healthPath: '/health',
    version: async (url) => {
      const { build_info } = (await (await fetch(`${url}/props`)).json()) as { build_info: string }
      return build_info
    },
    counters: {
      prompt: 'llamacpp:prompt_tokens_total',
      output: 'llamacpp:tokens_predicted_total',
      hits: 'llamacpp:prompt_tokens_cached_total',
      running: 'llamacpp:requests_processing',
    },
    stackFlags: [],
    isSalted: false,
  }
}
