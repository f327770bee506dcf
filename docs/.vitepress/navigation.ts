/** The order in which the documentation is read: by people who use, operate or verify the system. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

type Item = { text: string; link: string }
type Group = { text: string; collapsed?: boolean; items: Item[] }

const item = (text: string, page: string): Item => ({ text, link: `/${page}` })

const groups: Group[] = [
  {
    text: 'Use',
    items: [
      item('Quick start', 'quick-start'),
      item('Integrations', 'integrations'),
      item('Proxy', 'proxy'),
      item('Installing the proxy', 'install'),
      item('SDK', 'sdk'),
      item('SDK reference', 'sdk-reference'),
      item('Portal', 'portal'),
    ],
  },
  {
    text: 'Operate',
    items: [
      item('Operations', 'operations'),
      item('Models and engines', 'engines'),
      item('Manifests and their log', 'manifest'),
      item('Flags', 'flags'),
      item('Metrics', 'metrics'),
    ],
  },
  {
    text: 'Verify',
    items: [
      item('Threat model', 'threat-model'),
      item('Audit guide', 'audit'),
      item('Protocol', 'protocol'),
      item('Attestation', 'attestation'),
      item('NVIDIA devices', 'attestation-nvidia'),
      item('Traffic shape', 'traffic-shape'),
      item('Cache canary', 'cache-canary'),
      item('Scorecard', 'scorecard'),
    ],
  },
  {
    text: 'Appendices: results',
    collapsed: true,
    items: [
      item('API compatibility', 'compatibility'),
      item('Third-party test suites', 'compatibility-suites'),
      item('Model servers', 'model-servers'),
      item('Performance', 'performance'),
      item('Reliability', 'reliability'),
      item('Hostile clients', 'hostile-clients'),
      item('Protocol model', 'protocol-model'),
      item('Packages', 'packages'),
      item('Dependencies', 'dependencies'),
      item('Licences', 'licences'),
    ],
  },
]

/** Every page has a place: one that no group lists comes last, under its own title. */
export function sidebarOf(docs: string): Group[] {
  const listed = new Set(groups.flatMap(({ items }) => items.map(({ link }) => link)))
  const pages = readdirSync(docs)
    .filter((name) => name.endsWith('.md') && name !== 'index.md')
    .map((name) => name.slice(0, -'.md'.length))
  const others = pages
    .filter((page) => !listed.has(`/${page}`))
    .map((page) => item(titleOf(join(docs, `${page}.md`)), page))
  const decisions = readdirSync(join(docs, 'decisions'))
    .sort()
    .map((name) => item(titleOf(join(docs, 'decisions', name)), `decisions/${name.slice(0, -3)}`))
  return [
    ...groups,
    ...(others.length === 0 ? [] : [{ text: 'More', items: others }]),
    { text: 'Decisions', collapsed: true, items: decisions },
  ]
}

function titleOf(path: string): string {
  return /^# (.+)$/m.exec(readFileSync(path, 'utf8'))?.[1] ?? path
}
