/** Finds links between documents that lead nowhere. */
import { posix } from 'node:path'
import { type MarkdownFile, withoutCode } from './markdown-files.ts'

/** One line per dead link: where it is and what is missing. */
export function findDeadLinks(
  files: readonly MarkdownFile[],
  exists: (path: string) => boolean,
): string[] {
  const anchors = new Map(files.map(({ path, text }) => [path, headingAnchors(text)]))
  return files.flatMap(({ path, text }) =>
    linksOf(text).flatMap((link) => {
      if (/^[a-z]+:/.test(link)) return []
      const [name = '', anchor] = link.split('#')
      const target = name === '' ? path : posix.normalize(posix.join(posix.dirname(path), name))
      if (!exists(target)) return [`${path}: ${link}: there is no ${target}`]
      const known = anchors.get(target)
      if (anchor === undefined || known === undefined || known.has(anchor)) return []
      return [`${path}: ${link}: ${target} has no heading ${anchor}`]
    }),
  )
}

function linksOf(text: string): string[] {
  const prose = withoutCode(text)
  const inline = [...prose.matchAll(/\]\(([^()\s]+)(?: "[^"]*")?\)/g)]
  const images = [...prose.matchAll(/<(?:img|source)[^>]* src(?:set)?="([^"]+)"/g)]
  return [...inline, ...images].map(([, link = '']) => link)
}

/** As GitHub and VitePress build them: lower case, punctuation dropped, spaces to hyphens, a number after repeats. */
function headingAnchors(text: string): Set<string> {
  const anchors = new Set<string>()
  const seen = new Map<string, number>()
  for (const [, title = ''] of text.replace(/^(`{3,})[\s\S]*?^\1$/gm, '').matchAll(/^#+ (.+)$/gm)) {
    const base = title
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-')
    const times = seen.get(base) ?? 0
    anchors.add(times === 0 ? base : `${base}-${times}`)
    seen.set(base, times + 1)
  }
  return anchors
}
