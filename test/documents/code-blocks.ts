/** The blocks of code in a document, with the heading that they belong to. */

export type CodeBlock = {
  readonly heading: string
  readonly language: string
  readonly text: string
}

export function codeBlocks(markdown: string): CodeBlock[] {
  const found: CodeBlock[] = []
  let heading = ''
  const parts = /^#+ (?<title>.+)$|^```(?<language>\w+)\n(?<text>[\s\S]*?)^```$/gm
  for (const { groups } of markdown.matchAll(parts)) {
    const { title, language, text } = groups ?? {}
    if (title !== undefined) heading = title
    else if (language !== undefined) found.push({ heading, language, text: text ?? '' })
  }
  return found
}

/** The commands of a shell block: lines that end in a backslash continue; comments and settings are skipped. */
export function commandsOf(text: string): string[] {
  return text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#') && !line.startsWith('export '))
}
