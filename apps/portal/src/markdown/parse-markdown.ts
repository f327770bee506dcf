/**
 * Parses Markdown as models write it into a tree. Pages render the tree as elements: text never
 * becomes HTML.
 */

export type Inline =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'break' }
  | { readonly kind: 'strong' | 'emphasis' | 'deleted'; readonly content: readonly Inline[] }
  | { readonly kind: 'link'; readonly url: string; readonly content: readonly Inline[] }

export type Block =
  | { readonly kind: 'paragraph'; readonly content: readonly Inline[] }
  | { readonly kind: 'heading'; readonly level: number; readonly content: readonly Inline[] }
  | { readonly kind: 'code'; readonly language: string; readonly text: string }
  | { readonly kind: 'quote'; readonly blocks: readonly Block[] }
  | { readonly kind: 'list'; readonly start: number | undefined; readonly items: readonly Item[] }
  | { readonly kind: 'table'; readonly head: readonly Cell[]; readonly rows: readonly Cell[][] }
  | { readonly kind: 'rule' }

export type Item = readonly Block[]
export type Cell = readonly Inline[]

/** Deeper quotes and lists are shown as plain text. */
const maxDepth = 8

// A model decides what is parsed: every pattern takes time proportional to the text, also if it does
// not match. Two repetitions in a row must not share a character.
const marker = /^( {0,3})([-*+]|(\d{1,9})[.)])( +|$)/
const headingMark = /^ {0,3}(#{1,6})(?= |$)/
const fenceMark = /^ {0,3}(`{3,}|~{3,})/

export function parseMarkdown(text: string): readonly Block[] {
  return parseBlocks(text.replace(/\r\n?/g, '\n').split('\n'), 0)
}

function parseBlocks(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = []
  let at = 0
  while (at < lines.length) {
    const line = lines[at] ?? ''
    if (line.trim() === '') {
      at++
      continue
    }
    const [block, next] = readBlock(lines, at, depth)
    blocks.push(block)
    at = next
  }
  return blocks
}

function readBlock(lines: readonly string[], at: number, depth: number): [Block, number] {
  const line = lines[at] ?? ''
  const opened = readFence(line)
  if (opened !== undefined) return readCode(lines, at, opened)
  const titled = headingMark.exec(line)
  if (titled !== null) {
    const content = parseInline(titleOf(line.slice(titled[0].length)))
    return [{ kind: 'heading', level: titled[1]?.length ?? 1, content }, at + 1]
  }
  if (isRule(line)) return [{ kind: 'rule' }, at + 1]
  if (depth < maxDepth && line.trimStart().startsWith('>')) return readQuote(lines, at, depth)
  if (depth < maxDepth && marker.test(line)) return readList(lines, at, depth)
  if (line.includes('|') && isDivider(lines[at + 1] ?? '')) return readTable(lines, at)
  return readParagraph(lines, at)
}

/** Three or more of the same mark, with any spaces between them. */
function isRule(line: string): boolean {
  const marks = line.replaceAll(' ', '')
  const isMarked = /^ {0,3}[-*_]/.test(line) && marks.length >= 3
  return isMarked && marks.replaceAll(marks.charAt(0), '') === ''
}

/** The line under the head of a table: its first cell, at least, has a dash. */
function isDivider(line: string): boolean {
  if (!/^[ :|-]*$/.test(line)) return false
  return line
    .replace(/^ {0,3}\|?/, '')
    .split('|', 1)
    .some((cell) => cell.includes('-'))
}

/** The text of a heading, without the marks that may close it. */
function titleOf(text: string): string {
  const title = trimEndOf(text, ' ')
  const unmarked = trimEndOf(title, '#')
  const isClosed = unmarked.endsWith(' ') && unmarked.trim() !== ''
  return trimEndOf(isClosed ? unmarked : title, ' ').trimStart()
}

function trimEndOf(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end--
  return text.slice(0, end)
}

type Fence = { readonly mark: string; readonly language: string }

function readFence(line: string): Fence | undefined {
  const [whole, mark] = fenceMark.exec(line) ?? []
  if (whole === undefined || mark === undefined) return undefined
  const info = line.slice(whole.length)
  return info.includes('`') ? undefined : { mark, language: info.trim().split(/\s/, 1)[0] ?? '' }
}

/** An unclosed fence, as while an answer streams, extends to the end. */
function readCode(lines: readonly string[], at: number, opened: Fence): [Block, number] {
  const { mark, language } = opened
  let end = at + 1
  while (end < lines.length && !isClosing(lines[end] ?? '', mark)) end++
  const text = lines.slice(at + 1, end).join('\n')
  return [{ kind: 'code', language, text }, end + 1]
}

function isClosing(line: string, mark: string): boolean {
  const text = line.trim()
  return text.startsWith(mark) && text.replaceAll(mark.charAt(0), '') === ''
}

function readQuote(lines: readonly string[], at: number, depth: number): [Block, number] {
  const quoted: string[] = []
  let end = at
  for (; end < lines.length && (lines[end] ?? '').trimStart().startsWith('>'); end++) {
    quoted.push((lines[end] ?? '').replace(/^\s*> ?/, ''))
  }
  return [{ kind: 'quote', blocks: parseBlocks(quoted, depth + 1) }, end]
}

function readList(lines: readonly string[], at: number, depth: number): [Block, number] {
  const first = marker.exec(lines[at] ?? '')
  const isOrdered = first?.[3] !== undefined
  const items: Item[] = []
  let end = at
  while (end < lines.length) {
    const found = marker.exec(lines[end] ?? '')
    if (found === null || (found[3] !== undefined) !== isOrdered || isRule(lines[end] ?? '')) break
    const [item, next] = readItem(lines, end, found, depth)
    items.push(item)
    end = next
  }
  return [{ kind: 'list', start: isOrdered ? Number(first?.[3]) : undefined, items }, end]
}

/** An item continues with lines indented to its text, and across one empty line before such a line. */
function readItem(
  lines: readonly string[],
  at: number,
  found: RegExpExecArray,
  depth: number,
): [Item, number] {
  const indent = found[0].length
  const own = [(lines[at] ?? '').slice(indent)]
  let end = at + 1
  for (; end < lines.length; end++) {
    const line = lines[end] ?? ''
    const spaces = line.length - line.trimStart().length
    if (line.trim() === '') {
      if (!isIndented(lines[end + 1] ?? '')) break
      own.push('')
    } else if (spaces >= Math.min(indent, 2)) own.push(line.slice(Math.min(spaces, indent)))
    else if (startsBlock(line) || lines[end - 1]?.trim() === '') break
    else own.push(line)
  }
  while (end < lines.length && (lines[end] ?? '').trim() === '') end++
  return [parseBlocks(own, depth + 1), end]
}

const isIndented = (line: string) => /^ {2,}\S/.test(line)

const startsBlock = (line: string) =>
  marker.test(line) ||
  readFence(line) !== undefined ||
  headingMark.test(line) ||
  /^ {0,3}>/.test(line)

function readTable(lines: readonly string[], at: number): [Block, number] {
  const rows: Cell[][] = []
  let end = at + 2
  for (; end < lines.length && (lines[end] ?? '').includes('|'); end++) {
    rows.push(splitRow(lines[end] ?? ''))
  }
  return [{ kind: 'table', head: splitRow(lines[at] ?? ''), rows }, end]
}

const splitRow = (line: string): Cell[] =>
  line
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => parseInline(cell.trim().replaceAll('\\|', '|')))

function readParagraph(lines: readonly string[], at: number): [Block, number] {
  let end = at + 1
  while (end < lines.length && (lines[end] ?? '').trim() !== '' && !startsBlock(lines[end] ?? ''))
    end++
  const text = lines.slice(at, end).map((line) => line.trimStart())
  return [{ kind: 'paragraph', content: parseInline(text.join('\n')) }, end]
}

// Emphasis ends at the next mark of its kind, so that all searches for an end together pass over the
// text once; the ends of code are found by `readSpan`.
const inline =
  /\\([!-/:-@[-`{-~])|(`+)|!?\[([^[\]]*)\]\(([^()]*)\)|<?(https?:\/\/[^\s<>"'`]*[^\s<>"'`.,;:!?)\]*_])>?|(\*\*|__|~~)(?=\S)((?:(?!\6)[^\\])+?)(?<=\S)\6|(\*|_)(?=\S)((?:(?!\8)[^\\])+?)(?<=\S)\8|\n/g

const maxInlineLength = 20_000

export function parseInline(text: string, depth = 0): readonly Inline[] {
  if (depth > maxDepth || text.length > maxInlineLength) return [{ kind: 'text', text }]
  const found: Inline[] = []
  const pattern = new RegExp(inline)
  const unclosed = new Set<number>()
  let at = 0
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    if (isInsideWord(text, match)) continue
    const ticks = match[2]
    const span =
      ticks === undefined ? undefined : readSpan(text, pattern.lastIndex, ticks, unclosed)
    if (ticks !== undefined && span === undefined) continue
    const before = text.slice(at, match.index)
    const isBreak = match[0] === '\n' && before.endsWith('  ')
    const shown = isBreak ? trimEndOf(before, ' ') : before
    if (shown !== '') found.push({ kind: 'text', text: shown })
    found.push(isBreak ? { kind: 'break' } : (span?.code ?? readInline(match, depth)))
    at = span?.end ?? pattern.lastIndex
    pattern.lastIndex = at
  }
  if (at < text.length) found.push({ kind: 'text', text: text.slice(at) })
  return found
}

type Span = { readonly code: Inline; readonly end: number }

/**
 * Code from `start` to the next run of as many backticks. Lengths of runs that have no end are
 * remembered: there are few, since each needs a run of its own.
 */
function readSpan(
  text: string,
  start: number,
  ticks: string,
  unclosed: Set<number>,
): Span | undefined {
  if (unclosed.has(ticks.length)) return undefined
  const runs = /`+/g
  runs.lastIndex = start
  for (let run = runs.exec(text); run !== null; run = runs.exec(text)) {
    if (run[0].length !== ticks.length) continue
    const code = text.slice(start, run.index).replace(/^ (.*) $/s, '$1')
    return { code: { kind: 'code', text: code }, end: runs.lastIndex }
  }
  unclosed.add(ticks.length)
  return undefined
}

/** `snake_case_names` are not emphasis. */
function isInsideWord(text: string, match: RegExpExecArray): boolean {
  const mark = match[6] ?? match[8]
  if (mark === undefined || !mark.startsWith('_')) return false
  return (
    /\w/.test(text[match.index - 1] ?? '') || /\w/.test(text[match.index + match[0].length] ?? '')
  )
}

function readInline(match: RegExpExecArray, depth: number): Inline {
  const [whole, escaped, , label, inside, address, double, inDouble, single, inSingle] = match
  if (escaped !== undefined) return { kind: 'text', text: escaped }
  if (label !== undefined) {
    const target = /^\s*<?([^\s<>]*)/.exec(inside ?? '')?.[1] ?? ''
    return readLink(whole, label, target, depth)
  }
  if (address !== undefined) {
    return { kind: 'link', url: address, content: [{ kind: 'text', text: address }] }
  }
  if (double !== undefined) {
    const kind = double === '~~' ? 'deleted' : 'strong'
    return { kind, content: parseInline(inDouble ?? '', depth + 1) }
  }
  if (single !== undefined) {
    return { kind: 'emphasis', content: parseInline(inSingle ?? '', depth + 1) }
  }
  return { kind: 'text', text: whole }
}

/** Only addresses that open a page or an e-mail; anything else stays text. Images become links. */
function readLink(whole: string, label: string, target: string, depth: number): Inline {
  if (!/^(https?:\/\/|mailto:)/i.test(target)) return { kind: 'text', text: whole }
  const content =
    label === '' ? [{ kind: 'text' as const, text: target }] : parseInline(label, depth + 1)
  return { kind: 'link', url: target, content }
}
