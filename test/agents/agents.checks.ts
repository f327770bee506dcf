/** The agents, each pinned, each with the settings that point it at one address and at nothing else. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Agent } from './agent.ts'

const native = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`

const claudeCode: Agent = {
  title: 'check 85: Claude Code finishes a task with a tool',
  package: '@anthropic-ai/claude-code',
  version: '2.1.325',
  prepare({ installed, url, apiKey, model, task }) {
    const program = join(
      installed,
      `node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
    )
    const ask = [program, '-p', '--allowedTools', 'Bash', '--output-format', 'text']
    return {
      // The second command is another turn of the same session.
      commands: [
        [...ask, task],
        [...ask, '--continue', 'Is it there?'],
      ],
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: apiKey,
        ANTHROPIC_MODEL: model,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        DISABLE_TELEMETRY: '1',
      },
    }
  },
}

const opencode: Agent = {
  title: 'check 86: opencode finishes a task with a tool',
  package: 'opencode-ai',
  version: '1.18.33',
  prepare({ installed, url, apiKey, model, work, task }) {
    const limit = { context: 200_000, output: 8_000 }
    const settings = {
      autoupdate: false,
      share: 'disabled',
      model: `privatemode/${model}`,
      small_model: `privatemode/${model}`,
      permission: { bash: 'allow', edit: 'allow' },
      provider: {
        privatemode: {
          npm: '@ai-sdk/openai-compatible',
          name: 'Privatemode',
          options: { baseURL: `${url}/v1`, apiKey },
          models: { [model]: { name: model, limit, tool_call: true } },
        },
      },
    }
    writeFileSync(join(work, 'opencode.json'), JSON.stringify(settings))
    return {
      commands: [[join(installed, `node_modules/opencode-${native}/bin/opencode`), 'run', task]],
      env: {
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
        OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
      },
    }
  },
}

const cline: Agent = {
  title: 'check 87: Cline finishes a task with a tool',
  package: 'cline',
  version: '3.0.65',
  prepare({ installed, url, apiKey, model, home, task }) {
    const program = join(installed, 'node_modules/.bin/cline')
    const data = ['--data-dir', join(home, 'data')]
    const account = ['--apikey', apiKey, '--modelid', model, '--baseurl', `${url}/v1`]
    const provider = 'openai-compatible'
    return {
      commands: [
        [program, 'auth', '--provider', provider, ...account, ...data],
        [program, '--json', ...data, '-P', provider, '-m', model, '-t', '90', task],
      ],
      env: { CLINE_TELEMETRY_DISABLED: '1' },
    }
  },
}

const continueCli: Agent = {
  title: 'check 88: Continue finishes a task with a tool',
  package: '@continuedev/cli',
  version: '1.5.47',
  prepare({ installed, url, apiKey, model, home, task }) {
    const config = join(home, 'config.yaml')
    const settings = {
      name: 'local',
      version: '1.0.0',
      schema: 'v1',
      models: [
        {
          ...{ name: model, provider: 'openai', model, apiKey },
          ...{ apiBase: `${url}/v1`, roles: ['chat'], capabilities: ['tool_use'] },
        },
      ],
    }
    writeFileSync(config, JSON.stringify(settings)) // JSON is YAML as well
    return {
      commands: [
        [join(installed, 'node_modules/.bin/cn'), '-p', '--auto', '--config', config, task],
      ],
      env: { CONTINUE_TELEMETRY_ENABLED: '0', CONTINUE_METRICS_ENABLED: '0' },
    }
  },
}

const codex: Agent = {
  title: 'check 89: Codex finishes a task with a tool, through /v1/responses',
  package: '@openai/codex',
  version: '0.166.0',
  prepare({ installed, url, apiKey, model, home, task }) {
    mkdirSync(join(home, '.codex'))
    const settings = [
      `model = "${model}"`,
      'model_provider = "privatemode"',
      'check_for_update_on_startup = false',
      '[analytics]',
      'enabled = false',
      '[model_providers.privatemode]',
      'name = "Privatemode"',
      `base_url = "${url}/v1"`,
      'env_key = "PRIVATEMODE_KEY"',
      'wire_api = "responses"',
    ]
    writeFileSync(join(home, '.codex', 'config.toml'), settings.join('\n'))
    const flags = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox']
    return {
      commands: [[join(installed, 'node_modules/.bin/codex'), 'exec', ...flags, task]],
      env: { PRIVATEMODE_KEY: apiKey },
    }
  },
}

export const agents: readonly Agent[] = [claudeCode, opencode, cline, continueCli, codex]
export const prefixTitle = 'check 90: the second turn of Claude Code hits the prefix cache'
