/** How vLLM's CPU build is run. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder, run } from './install.ts'
import { modelName, type ServerPlan, type Variant } from './real-server.ts'

export const modelFolder = fileURLToPath(new URL('./model/tiny', import.meta.url))

const visionModel = join(cacheFolder, 'vision-model')
const visionScript = fileURLToPath(new URL('./model/make-vision-model.py', import.meta.url))

async function makeVisionModel(program: string): Promise<void> {
  if (existsSync(join(visionModel, 'chat_template.jinja'))) return
  await run([join(dirname(program), 'python'), visionScript, visionModel, modelFolder])
}

/** One thread and one gigabyte of cache: it runs beside other work. */
export const cpuEnvironment = {
  VLLM_CPU_KVCACHE_SPACE: '1',
  VLLM_CPU_OMP_THREADS_BIND: 'nobind',
  OMP_NUM_THREADS: '1',
  KMP_BLOCKTIME: '0',
  HF_HUB_OFFLINE: '1',
  VLLM_NO_USAGE_STATS: '1',
  DO_NOT_TRACK: '1',
  TORCHDYNAMO_DISABLE: '1',
}

const flags: Readonly<Record<Variant, readonly string[]>> = {
  chat: ['--enable-auto-tool-choice', '--tool-call-parser', 'hermes'],
  reasoning: ['--reasoning-parser', 'qwen3'],
  embed: ['--runner', 'pooling', '--convert', 'embed'],
  vision: [],
}

/** `VLLM_USE_RUST_FRONTEND=1` in the environment of the tests starts the second program that vLLM has for its API. */
type Version = { readonly version: string; readonly rust_frontend_version?: string }

export function vllmPlan(program: string): ServerPlan {
  return {
    name: 'vLLM',
    kind: 'vllm',
    variants: ['chat', 'reasoning', 'embed', 'vision'],
    make: async (variant) => {
      if (variant === 'vision') await makeVisionModel(program)
    },
    command: (variant, port) => [
      ...[program, 'serve', variant === 'vision' ? visionModel : modelFolder],
      ...['--served-model-name', modelName],
      ...['--host', '127.0.0.1', '--port', `${port}`, '--dtype', 'bfloat16'],
      ...['--max-model-len', variant === 'embed' ? '512' : '4096', '--max-num-seqs', '32'],
      ...(variant === 'embed' ? [] : ['--enable-prefix-caching', '--enable-prompt-tokens-details']),
      ...['--enforce-eager', ...flags[variant]],
    ],
    environment: () => cpuEnvironment,
    healthPath: '/health',
    version: async (url) => {
      const answer = (await (await fetch(`${url}/version`)).json()) as Version
      return answer.rust_frontend_version === undefined
        ? answer.version
        : `${answer.version} with the Rust frontend`
    },
    counters: {
      prompt: 'vllm:prompt_tokens_total',
      output: 'vllm:generation_tokens_total',
      hits: 'vllm:prefix_cache_hits_total',
      running: 'vllm:num_requests_running',
      images: 'vllm:mm_cache_hits_total',
    },
    stackFlags: [],
    isSalted: true,
  }
}
