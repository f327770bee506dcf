/** `npm start`: set-up, then the whole system on one machine. */
import { join } from 'node:path'
import { launch } from './launch.mjs'
import { bunPath, install, root } from './setup.mjs'

install('runtime')
launch(bunPath(), [join(root, 'apps', 'stack', 'src', 'main.ts'), ...process.argv.slice(2)])
