/** How each coding agent is pointed at a proxy: its command, arguments, variables and files. */

export const agentNames = ['claude', 'codex', 'opencode', 'cline', 'continue', 'aider'] as const
export type AgentName = (typeof agentNames)[number]

export type AgentInputs = {
  /** Address of the proxy, without a path. */
  readonly url: string
  readonly model: string
  readonly contextLength: number | undefined
  /** A private directory that is removed when the agent exits. */
  readonly folder: string
  /** Arguments after `--` on the command line. */
  readonly args: readonly string[]
}

export type AgentStart = {
  readonly command: string
  readonly install: string
  /** Run first, for agents that store settings themselves. */
  readonly before?: readonly string[]
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** By name in the private directory. */
  readonly files: Readonly<Record<string, string>>
}

/** Agents' instructions and tool descriptions alone fill several thousand tokens. */
export const shortestAgentContext = 16_384

/** Proxies with their own key need none from clients, but most agents refuse to start without one. */
const unusedKey = 'unused'

export function isAgentName(word: string | undefined): word is AgentName {
  return agentNames.some((name) => name === word)
}

export function startOf(agent: AgentName, inputs: AgentInputs): AgentStart {
  const { url, model, folder, args } = inputs
  switch (agent) {
    case 'claude':
      return {
        command: 'claude',
        install: 'npm install --global @anthropic-ai/claude-code',
        args,
        env: {
          ANTHROPIC_BASE_URL: url,
          ANTHROPIC_AUTH_TOKEN: unusedKey,
          ANTHROPIC_MODEL: model,
          ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        },
        files: {},
      }
    case 'codex': {
      const provider = {
        name: 'Privatemode',
        base_url: `${url}/v1`,
        env_key: 'PRIVATEMODE_KEY',
        wire_api: 'responses',
      }
      const settings = [
        ['model', model],
        ['model_provider', 'privatemode'],
        ...Object.entries(provider).map(([name, value]) => [
          `model_providers.privatemode.${name}`,
          value,
        ]),
      ]
      return {
        command: 'codex',
        install: 'npm install --global @openai/codex',
        // A JSON string is also a valid TOML string.
        args: [
          ...settings.flatMap(([name, value]) => ['-c', `${name}=${JSON.stringify(value)}`]),
          ...args,
        ],
        env: { PRIVATEMODE_KEY: unusedKey },
        files: {},
      }
    }
    case 'opencode':
      return {
        command: 'opencode',
        install: 'npm install --global opencode-ai',
        args,
        env: { OPENCODE_CONFIG: `${folder}/opencode.json` },
        files: { 'opencode.json': formatOpencode(inputs) },
      }
    case 'cline': {
      const data = ['--data-dir', `${folder}/cline`]
      const account = ['--apikey', unusedKey, '--modelid', model, '--baseurl', `${url}/v1`]
      const provider = 'openai-compatible'
      return {
        command: 'cline',
        install: 'npm install --global cline',
        before: ['auth', '--provider', provider, ...account, ...data],
        args: [...data, '-P', provider, '-m', model, ...args],
        env: { CLINE_TELEMETRY_DISABLED: '1' },
        files: {},
      }
    }
    case 'continue': {
      const entry = {
        ...{ name: model, provider: 'openai', model, apiKey: unusedKey, apiBase: `${url}/v1` },
        ...{ roles: ['chat'], capabilities: ['tool_use'] },
      }
      const settings = { name: 'privatemode', version: '1.0.0', schema: 'v1', models: [entry] }
      return {
        command: 'cn',
        install: 'npm install --global @continuedev/cli',
        args: ['--config', `${folder}/config.yaml`, ...args],
        env: { CONTINUE_TELEMETRY_ENABLED: '0' },
        files: { 'config.yaml': JSON.stringify(settings) }, // JSON is valid YAML
      }
    }
    case 'aider':
      return {
        command: 'aider',
        install: 'python -m pip install aider-install && aider-install',
        args: ['--model', `openai/${model}`, '--no-show-model-warnings', ...args],
        env: {
          OPENAI_API_BASE: `${url}/v1`,
          OPENAI_API_KEY: unusedKey,
          AIDER_ANALYTICS: 'false',
        },
        files: {},
      }
  }
}

function formatOpencode({ url, model, contextLength }: AgentInputs): string {
  const limit =
    contextLength === undefined ? {} : { limit: { context: contextLength, output: 8192 } }
  const provider = {
    npm: '@ai-sdk/openai-compatible',
    name: 'Privatemode',
    options: { baseURL: `${url}/v1`, apiKey: unusedKey },
    models: { [model]: { name: model, tool_call: true, ...limit } },
  }
  return JSON.stringify({
    $schema: 'https://opencode.ai/config.json',
    ...{ autoupdate: false, share: 'disabled' },
    ...{ model: `privatemode/${model}`, small_model: `privatemode/${model}` },
    provider: { privatemode: provider },
  })
}
