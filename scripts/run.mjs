/** Runs one TypeScript program of this repository: node scripts/run.mjs [--with-tools] FILE [arguments]. */
import { launch } from './launch.mjs'
import { bunPath, install } from './setup.mjs'

const given = process.argv.slice(2)
const withTools = given[0] === '--with-tools'
install(withTools ? 'all' : 'runtime')
launch(bunPath(), withTools ? given.slice(1) : given)
