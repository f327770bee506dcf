/** `npm run task -- setup:deploy`: builds and fetches what the tests of the charts need, into the user's cache. */
import { findSchema, obtainSchema } from '../../test/chart/kubernetes-schema.ts'
import { findTool, type GoModule, type GoTool, goModules, goTools, obtainTool } from './go-tools.ts'

for (const name of Object.keys(goTools) as GoTool[]) {
  // Each may take minutes, in which nothing else is printed.
  if (findTool(name).kind === 'missing') console.log(`${name}: building ${goTools[name].version}`)
  const obtained = obtainTool(name)
  console.log(
    `${name}: ${obtained.kind === 'found' ? obtained.path : `missing, ${obtained.reason}`}`,
  )
}
for (const name of Object.keys(goModules) as GoModule[]) {
  if (findSchema(name) === undefined) {
    console.log(`schemas of ${name}: fetching ${goModules[name].module} ${goModules[name].version}`)
  }
  const fault = obtainSchema(name)
  console.log(`schemas of ${name}: ${fault === undefined ? 'there' : `missing, ${fault}`}`)
}
