/** Reads from Bun's output which tests failed, and in which files. */

/** The names of failed tests by file; '' holds those that stand under no file. */
export function failedFiles(output) {
  const files = new Map()
  let file = ''
  for (const line of output.split('\n')) {
    const heading = /^(\S+\.test\.tsx?):$/.exec(line)
    if (heading !== null) file = heading[1]
    // The list that Bun repeats at the end of a long run stands under no file of its own.
    if (/^\d+ tests (failed|skipped):$/.test(line)) break
    if (line.startsWith('(fail) ')) {
      const name = line.slice(7).replace(/ \[[\d.]+m?s\]$/, '')
      files.set(file, [...(files.get(file) ?? []), name])
    }
  }
  return files
}
