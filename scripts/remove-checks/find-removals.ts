/**
 * Finds conditions that decide about a refusal: `if (bad) throw`, a block that throws, `if (good)
 * return` with the refusal behind it, or `require(…)`; on one line, or on several.
 */
export type Removal = {
  readonly line: number
  readonly text: string
  /** The whole file without the check. */
  readonly mutated: string
}

const refusal = /throw |refuse|fail\(|malformed\(/

export function findRemovals(source: string): Removal[] {
  const lines = source.split('\n')
  return lines.flatMap((line, index) => {
    const changed = removeAt(lines, index)
    if (changed === undefined) return []
    const mutated = lines.toSpliced(index, changed.length, ...changed).join('\n')
    requireParsed(mutated, index + 1)
    const text = lines.slice(index, index + changed.length).map((one) => one.trim())
    return [{ line: index + 1, text: text.join(' ') || line, mutated }]
  })
}

/** Replacements for the same number of lines starting here; undefined if no check starts here. */
function removeAt(lines: readonly string[], index: number): readonly string[] | undefined {
  const line = lines[index] ?? ''
  if (/transcript\.require\($/.test(line)) return [`${line} true ||`]
  if (/^\s*require\(.+\)$/.test(line)) {
    return [line.replace('require(', 'require(true || (').replace(/\)$/, '))')]
  }
  if (/^\s*if \($/.test(line)) return removeLongCondition(lines, index)
  if (!/^\s*if \(/.test(line) || !refusal.test(`${line}${lines[index + 1] ?? ''}`)) return undefined
  const start = line.indexOf('if (') + 'if ('.length
  const end = closingParenthesis(line, start)
  if (end === undefined) return undefined
  const [before, condition, after] = [line.slice(0, start), line.slice(start, end), line.slice(end)]
  return [`${before}${opening(after)}${condition})${after}`]
}

/** Formatted code closes a multi-line condition at the indentation where it began. */
function removeLongCondition(
  lines: readonly string[],
  index: number,
): readonly string[] | undefined {
  const indent = /^\s*/.exec(lines[index] ?? '')?.[0] ?? ''
  const end = lines.findIndex((line, at) => at > index && line.startsWith(`${indent})`))
  const last = lines[end]
  if (last === undefined || !refusal.test(`${last}${lines[end + 1] ?? ''}`)) return undefined
  const after = last.slice(indent.length)
  const condition = lines.slice(index + 1, end)
  return [`${lines[index]}${opening(after)}`, ...condition, `${indent})${after}`]
}

/** A condition that accepts a good case becomes true, one that refuses a bad case becomes false. */
function opening(after: string): string {
  const lets = /\) return\b/.test(after) && !/throw |refuse\(|fail\(|malformed\(/.test(after)
  return lets ? 'true || (' : 'false && ('
}

/** Where the condition that begins at `start` ends; undefined if that is on another line. */
function closingParenthesis(line: string, start: number): number | undefined {
  // Parentheses in strings and regular expressions do not count.
  const bare = line
    .replace(/'(?:[^'\\]|\\.)*'/g, (text) => '_'.repeat(text.length))
    .replace(/(?<=[(!&|,=] ?)\/(?:[^/\\[]|\\.|\[(?:[^\]\\]|\\.)*\])+\//g, (text) =>
      '_'.repeat(text.length),
    )
  let depth = 1
  for (let at = start; at < bare.length; at++) {
    if (bare[at] === '(') depth++
    if (bare[at] === ')' && --depth === 0) return at
  }
  return undefined
}

/** Code that does not parse fails every test and proves nothing. */
function requireParsed(source: string, line: number): void {
  try {
    new Bun.Transpiler({ loader: 'ts' }).scanImports(source)
  } catch (cause) {
    throw new Error(`the check on line ${line} cannot be taken out`, { cause })
  }
}
