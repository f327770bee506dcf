/** How SGLang is run on processors: no registry has its kernels for them, so the program is named. */
import { modelName, type ServerPlan, type Variant } from './real-server.ts'
import { modelFolder } from './vllm.ts'

const flags: Readonly<Partial<Record<Variant, readonly string[]>>> = {
  chat: ['--tool-call-parser', 'hermes'],
  reasoning: ['--reasoning-parser', 'qwen3'],
  // Its embeddings have no salt, so they are used only where nothing is kept.
  embed: ['--is-embedding', '--disable-radix-cache'],
}

/** `program` takes the arguments of `python -m sglang.launch_server`. */
export function sglangPlan(program: string): ServerPlan {
  return {
    name: 'SGLang',
    kind: 'sglang',
    variants: ['chat', 'reasoning', 'embed'],
    command: (variant, port) => [
      ...[program, '--model-path', modelFolder, '--served-model-name', modelName],
      ...['--host', '127.0.0.1', '--port', `${port}`, '--device', 'cpu', '--dtype', 'bfloat16'],
      ...['--context-length', '4096', '--max-running-requests', '32'],
      ...['--max-total-tokens', '65536', '--enable-cache-report', '--enable-metrics'],
      // Otherwise it keeps a core busy that the stack needs.
      '--sleep-on-idle',
      ...(flags[variant] ?? []),
    ],
    environment: () => ({ OMP_NUM_THREADS: '1', HF_HUB_OFFLINE: '1', TORCHDYNAMO_DISABLE: '1' }),
    healthPath: '/health',
    version: async (url) => {
      const answer = await fetch(`${url}/server_info`)
      return ((await answer.json()) as { version: string }).version
    },
    counters: {
      prompt: 'sglang:prompt_tokens_total',
      output: 'sglang:generation_tokens_total',
      hits: 'sglang:cached_tokens_total',
      running: 'sglang:num_running_reqs',
    },
    stackFlags: [],
    isSalted: true,
  }
}
