/** `npm run task -- NAME [arguments]`: everything but starting, testing and checking; without a name, the list of tasks. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { launch } from './launch.mjs'
import { bunPath, install, root } from './setup.mjs'

/** By name: the file, what it is for, and whether it needs the packages that only tests and builds use. */
const tasks = JSON.parse(readFileSync(join(root, 'scripts', 'tasks.json'), 'utf8'))

const [name, ...given] = process.argv.slice(2)
if (name === undefined || name === '--help' || name === 'help') list()
else if (!Object.hasOwn(tasks, name)) refuse()
else if (given[0] === '--help') help()
else {
  const { file, tools } = tasks[name]
  install(tools ? 'all' : 'runtime')
  launch(bunPath(), [file, ...given])
}

function list() {
  const width = Math.max(...Object.keys(tasks).map((each) => each.length))
  console.log('npm run task -- NAME [arguments]; NAME --help says more\n')
  for (const [each, { purpose }] of Object.entries(tasks)) {
    console.log(`  ${each.padEnd(width)}  ${purpose}`)
  }
}

/** The comment at the top of the task's file, which describes its arguments. */
function help() {
  const { file, purpose } = tasks[name]
  const comment = /\/\*\*([\s\S]*?)\*\//.exec(readFileSync(join(root, file), 'utf8'))?.[1] ?? ''
  const text = comment
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trimEnd())
    .join('\n')
    .trim()
  console.log(`${name}: ${purpose}\n\n${text}\n\n(${file})`)
}

function refuse() {
  console.error(`error: there is no task ${name}; npm run task lists them`)
  process.exitCode = 2
}
