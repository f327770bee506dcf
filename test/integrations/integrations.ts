/** Clients and applications outside npm, each with its version, what is run, and what that must print. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type Ecosystem = 'python' | 'go' | 'npm'

export type Place = {
  /** The proxy's address, without a path. */
  readonly url: string
  readonly model: string
  /** Where the packages were installed: an environment, a module's folder, or the one with `node_modules`. */
  readonly installed: string
  /** A folder for this run alone, which is also its home. */
  readonly work: string
  /** The code under the heading of the page, with this address and model; fails if there is none. */
  readonly onPage: (language: string) => string
}

export type Step = {
  readonly command: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** What it must print. */
  readonly prints: RegExp
}

export type Integration = {
  readonly title: string
  /** The heading on the page of integrations. */
  readonly heading: string
  readonly ecosystem: Ecosystem
  /** With exact versions, as the ecosystem's tool takes them; the first one's version is shown. */
  readonly packages: readonly string[]
  readonly covers: string
  /** Writes the settings that the page gives, and returns what is run, one after the other. */
  readonly steps: (place: Place) => readonly Step[]
}

const spoken = /You said: Hello/
/** What a tool returns in the programs here, and the model repeats. */
const toolWasUsed = /The tool said: .*14 degrees/s

/** What coding agents are asked; see the model's script. */
export const fileTask = 'Make the file proof.txt with one word in it.'

const here = (...names: string[]) => join(import.meta.dir, ...names)
/** `privatemode-proxy`, as run from a checkout. */
const launcher = `${process.execPath} ${here('../../apps/proxy/src/main.ts')}`
const bin = (place: Place, name: string) => join(place.installed, 'bin', name)

/** The page's own program, then one of ours that covers more. */
function python(more: string, prints: RegExp): Integration['steps'] {
  return (place) => [
    { command: [bin(place, 'python3'), '-c', place.onPage('python')], prints: /Hello/ },
    { command: [bin(place, 'python3'), here('python', more), place.url, place.model], prints },
  ]
}

/** A program of ours around the page's line that makes the client. */
function go(program: string): Integration['steps'] {
  return (place) => {
    const source = readFileSync(here('go', program), 'utf8')
    const file = join(place.installed, 'main.go')
    writeFileSync(
      file,
      source.replace('CLIENT', () => place.onPage('go').trim()),
    )
    return [
      {
        command: ['go', 'run', '-C', place.installed, '.'],
        env: { MODEL: place.model, GOTOOLCHAIN: 'local' },
        prints: /whole: You said: Hello\nstream: You said: Hello\n/,
      },
    ]
  }
}

export const integrations: readonly Integration[] = [
  {
    title: 'LangChain, Python',
    heading: 'LangChain',
    ecosystem: 'python',
    packages: ['langchain-openai==1.7.3'],
    covers: '`invoke`, a stream, a tool and its result',
    steps: python('langchain_more.py', toolWasUsed),
  },
  {
    title: 'LlamaIndex',
    heading: 'LlamaIndex',
    ecosystem: 'python',
    packages: ['llama-index-llms-openai-like==0.8.1'],
    covers: '`complete`, a chat as a stream, a tool call',
    steps: python('llama_index_more.py', /stream: You said: Hello\ncall: get_weather Oslo/),
  },
  {
    title: 'pydantic-ai',
    heading: 'pydantic-ai',
    ecosystem: 'python',
    packages: ['pydantic-ai-slim[openai]==2.66.0'],
    covers: 'a run, a stream, a tool and its result',
    steps: python('pydantic_ai_more.py', toolWasUsed),
  },
  {
    title: 'instructor',
    heading: 'instructor',
    ecosystem: 'python',
    packages: ['instructor==1.17.0'],
    covers: 'structured output by schema and by a tool',
    steps: python('instructor_more.py', /^Oslo 14$/m),
  },
  {
    title: '`llm`',
    heading: 'llm',
    ecosystem: 'python',
    packages: ['llm==0.36'],
    covers: 'a whole answer, a stream',
    steps: (place) => {
      const env = { LLM_USER_PATH: place.work }
      writeFileSync(join(place.work, 'extra-openai-models.yaml'), place.onPage('yaml'))
      return [
        { command: [bin(place, 'llm'), '-m', 'privatemode', 'Hello'], env, prints: spoken },
        {
          command: [bin(place, 'llm'), '-m', 'privatemode', '--no-stream', 'Hello'],
          env,
          prints: spoken,
        },
      ]
    },
  },
  {
    title: 'aider',
    heading: 'aider',
    ecosystem: 'python',
    packages: ['aider-chat==0.86.2'],
    covers: 'writes a file in a git repository, set up by hand and by the launcher',
    steps: (place) => {
      const quiet = '--yes-always --no-check-update --analytics-disable --no-show-model-warnings'
      const message = `--edit-format whole --message "${fileTask}"`
      const command = place
        .onPage('sh')
        .trim()
        .replace(' aider ', ` ${bin(place, 'aider')} `)
      return [
        {
          command: [
            'sh',
            '-c',
            `git init -q && ${command} ${quiet} --no-auto-commits ${message} && cat proof.txt`,
          ],
          prints: /^made$/m,
        },
        {
          // Again, started by the launcher alone, where aider remembers nothing.
          command: [
            'sh',
            '-c',
            `mkdir launched && cd launched && git init -q && ${launcher} aider --port ${new URL(place.url).port} -- ${quiet} --no-auto-commits ${message} && cat proof.txt`,
          ],
          env: { PATH: `${join(place.installed, 'bin')}:${process.env.PATH}` },
          prints: /^made$/m,
        },
      ]
    },
  },
  {
    title: 'goose',
    heading: 'goose',
    ecosystem: 'npm',
    packages: ['@aaif/goose-binary-linux-x64@1.52.0'],
    covers: 'a task with a tool',
    steps: (place) => {
      const binary = join(place.installed, 'node_modules/@aaif/goose-binary-linux-x64/bin/goose')
      const session = place.onPage('sh').trim()
      const task = `run --no-session --with-builtin developer -t "${fileTask}"`
      const command = session.replace(/ goose session$/, ` GOOSE_MODE=auto ${binary} ${task}`)
      return [
        {
          command: ['sh', '-c', `${command} && cat proof.txt`],
          prints: /The file is there\.[\s\S]*^made$/m,
        },
      ]
    },
  },
  {
    title: 'OpenAI, Go',
    heading: 'OpenAI',
    ecosystem: 'go',
    packages: ['github.com/openai/openai-go/v3@v3.91.0'],
    covers: 'a chat, a stream',
    steps: go('openai.go.txt'),
  },
  {
    title: 'Anthropic, Go',
    heading: 'Anthropic',
    ecosystem: 'go',
    packages: ['github.com/anthropics/anthropic-sdk-go@v1.84.0'],
    covers: 'a message, a stream',
    steps: go('anthropic.go.txt'),
  },
]
