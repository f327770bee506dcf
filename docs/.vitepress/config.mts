/** The documentation as a site: `npm run task -- build:site`. A dead link fails the build. */
import { dirname, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { sidebarOf } from './navigation.ts'

const docs = dirname(dirname(fileURLToPath(import.meta.url)))
// Files outside docs/ are linked at the address of the source, which only a published build knows.
const source = process.env.SITE_SOURCE_URL

// biome-ignore lint/style/noDefaultExport: VitePress reads the default export.
export default defineConfig({
  title: 'Privatemode',
  description: 'Private language-model inference that you can host and verify',
  base: process.env.SITE_BASE ?? '/',
  outDir: '../dist/site',
  cacheDir: '../dist/.site-cache',
  cleanUrls: true,
  lastUpdated: false,
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'Use', link: '/quick-start' },
      { text: 'Operate', link: '/operations' },
      { text: 'Verify', link: '/threat-model' },
    ],
    sidebar: sidebarOf(docs),
    outline: [2, 3],
  },
  markdown: {
    config(md) {
      md.core.ruler.push('links-out-of-docs', (state) => {
        for (const { children } of state.tokens) {
          for (const token of children ?? []) {
            const href = token.type === 'link_open' ? token.attrGet('href') : null
            const path = href && pathInRepository(href, state.env.relativePath ?? '')
            if (path) token.attrSet('href', source === undefined ? '#' : `${source}/${path}`)
          }
        }
      })
    },
  },
})

/** The path of a linked file below the repository's root, if it is not part of this site. */
function pathInRepository(href: string, page: string): string | undefined {
  if (/^([a-z]+:|#|\/)/.test(href)) return undefined
  const path = posix.normalize(posix.join('docs', posix.dirname(page), href))
  return path.startsWith('docs/') && !path.endsWith('.cast') ? undefined : path
}
