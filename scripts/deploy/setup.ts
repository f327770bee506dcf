/** `npm run task -- setup:deploy`: builds and fetches what the tests of the charts need, into the user's cache; fails if anything is missing. */
import { findSchema, obtainSchema } from '../../test/chart/kubernetes-schema.ts'
import { findTool, type GoModule, type GoTool, goModules, goTools, obtainTool } from './go-tools.ts'

const missing: string[] = []
for (const name of Object.keys(goTools) as GoTool[]) {
  // Each may take minutes, in which nothing else is printed.
  if (findTool(name).kind === 'missing') console.log(`${name}: building ${goTools[name].version}`)
  const obtained = obtainTool(name)
  // Tests use a program on the path if the pinned one could not be built.
  const found = obtained.kind === 'found' ? obtained : findTool(name)
  if (found.kind === 'missing') missing.push(name)
  const reason = obtained.kind === 'missing' ? obtained.reason : ''
  console.log(`${name}: ${found.kind === 'found' ? found.path : `missing, ${reason}`}`)
}
for (const name of Object.keys(goModules) as GoModule[]) {
  if (findSchema(name) === undefined) {
    console.log(`schemas of ${name}: fetching ${goModules[name].module} ${goModules[name].version}`)
  }
  const fault = obtainSchema(name)
  if (fault !== undefined) missing.push(`schemas of ${name}`)
  console.log(`schemas of ${name}: ${fault === undefined ? 'there' : `missing, ${fault}`}`)
}
if (missing.length > 0) {
  // Without them the charts' tests would be skipped, and a release would call itself checked.
  console.error(
    `error: missing ${missing.join(', ')}; see the reasons above (building them needs Go 1.26 and a network)`,
  )
  process.exit(1)
}
