/** `npm run task -- setup:deploy`: builds and fetches what the tests of the charts need, into the user's cache. */
import { obtainSchema } from '../../test/chart/kubernetes-schema.ts'
import { type GoModule, type GoTool, goModules, goTools, obtainTool } from './go-tools.ts'

for (const name of Object.keys(goTools) as GoTool[]) {
  const obtained = obtainTool(name)
  console.log(
    `${name}: ${obtained.kind === 'found' ? obtained.path : `missing, ${obtained.reason}`}`,
  )
}
for (const name of Object.keys(goModules) as GoModule[]) {
  const fault = obtainSchema(name)
  console.log(`schemas of ${name}: ${fault === undefined ? 'there' : `missing, ${fault}`}`)
}
