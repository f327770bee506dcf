/** Reads from Bun's output which tests failed, and in which files. */

/** The names of failed tests by file, for one run or several in a row; '' holds those without a file. */
export function failedFiles(output) {
  const files = new Map()
  let file = ''
  let isRepeated = false
  for (const line of output.split('\n')) {
    const heading = /^(\S+\.test\.tsx?):$/.exec(line)
    if (heading !== null) {
      file = heading[1]
      isRepeated = false
    }
    // At the end of a long run Bun repeats the failures, without their files.
    if (/^\d+ tests? (failed|skipped):$/.test(line)) isRepeated = true
    if (line.startsWith('(fail) ') && !isRepeated) {
      const name = line.slice(7).replace(/ \[[\d.]+m?s\]$/, '')
      files.set(file, [...(files.get(file) ?? []), name])
    }
  }
  return files
}
