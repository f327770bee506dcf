/** The repository's own documents, without third-party ones. */
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const repository = resolve(import.meta.dir, '../..')

export type MarkdownFile = { readonly path: string; readonly text: string }

export function markdownFiles(): MarkdownFile[] {
  const listed = Bun.spawnSync(
    ['git', 'ls-files', '--cached', '--others', '--exclude-standard', '*.md'],
    { cwd: repository },
  )
  const paths = listed.success
    ? listed.stdout.toString().split('\n')
    : [...new Bun.Glob('{*,docs/**/*,packages/*/*,examples/*}.md').scanSync(repository)]
  return paths
    .filter((path) => path !== '' && !/(^|\/)node_modules\/|^test\/vectors\//.test(path))
    .filter((path) => existsSync(join(repository, path)))
    .map((path) => ({ path, text: readFileSync(join(repository, path), 'utf8') }))
}

/** The text without code blocks, and with a placeholder for each code span. */
export function withoutCode(text: string): string {
  return text.replace(/^(`{3,})[\s\S]*?^\1$/gm, '').replace(/(`+)[\s\S]*?\1/g, '`')
}
