/** What a person sees once everything runs: where to go and what to paste. */
import { relative } from 'node:path'
import { type FoundServer, formatFound } from './find-servers.ts'
import type { Settings } from './settings.ts'

export type BannerFacts = {
  readonly settings: Settings
  readonly chatModel: string | undefined
  readonly embedModel: string | undefined
  readonly apiKeyPath: string
  readonly caPath: string
  /** Present until the first account exists. */
  readonly portalLink: string | undefined
  /** Model servers running on this machine that are not used. */
  readonly servers: readonly FoundServer[]
  readonly elapsedSeconds: number
}

export function formatBanner(facts: BannerFacts): string {
  const { proxy, proxyless, gateway } = facts.settings.ports
  const model = facts.chatModel ?? facts.embedModel ?? 'MODEL'
  const keyPath = shown(facts.apiKeyPath)
  const caPath = shown(facts.caPath)
  const firstAccount =
    facts.portalLink === undefined
      ? []
      : [
          '',
          'Create the first account of the portal (the link works once):',
          '',
          `  ${facts.portalLink}`,
        ]
  return [
    '',
    `Privatemode is ready (${facts.elapsedSeconds.toFixed(1)} s).`,
    '',
    `  proxy       http://127.0.0.1:${proxy}/v1          verifies, encrypts, and needs no key`,
    `  proxyless   https://127.0.0.1:${proxyless}/v1         HTTPS with an API key, no client software`,
    `  gateway     http://127.0.0.1:${gateway}             blind: keys, metering, manifest log`,
    `  portal      http://127.0.0.1:${gateway}             keys, usage, verification, playground`,
    `  models      ${[...new Set([facts.chatModel, facts.embedModel])].filter(Boolean).join(', ')}`,
    `  API key     in ${keyPath}`,
    ...(facts.servers.length === 0 ? [] : ['', ...facts.servers.map(formatFound)]),
    ...firstAccount,
    '',
    'Try it:',
    '',
    `  curl -N http://127.0.0.1:${proxy}/v1/chat/completions -H 'content-type: application/json' \\`,
    `    -d '{"model":"${model}","stream":true,"max_tokens":60,"messages":[{"role":"user","content":"Write one sentence about the sea."}]}'`,
    '',
    `  curl --cacert ${caPath} https://127.0.0.1:${proxyless}/v1/models -H "authorization: Bearer $(cat ${keyPath})"`,
    '',
    'With the official clients:',
    '',
    `  new OpenAI({ baseURL: 'http://127.0.0.1:${proxy}/v1', apiKey: 'unused' })`,
    `  new Anthropic({ baseURL: 'http://127.0.0.1:${proxy}', apiKey: 'unused' })`,
    '',
    'This machine attests in software: every check runs as it does on hardware, but nothing keeps',
    'the owner of this machine, or an intruder, from reading prompts. Use it to try things out.',
    '',
    'Ctrl-C stops everything.',
    '',
  ].join('\n')
}

/** Relative to the current directory if that is shorter. */
function shown(path: string): string {
  const near = relative(process.cwd(), path)
  return near.startsWith('..') ? path : near
}
