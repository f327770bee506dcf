/**
 * `npm run task -- build:server LAYOUT [--image NAME] [--out FILE]`: a read-only volume of a model server's image.
 *
 * LAYOUT is an OCI layout, a folder or a tar archive, as `skopeo copy docker://… oci:DIR` writes it; NAME selects one of
 * several images. Prints the member `server` of the machine's configuration; add the server's arguments to its
 * `command`. FILE is dist/server.img by default; the disk's serial number is `server`.
 */
import { join } from 'node:path'
import { repository } from './deploy/locked-package.ts'
import { buildServer } from './machine/server.ts'
import { onlyArgument, parseTaskArguments } from './task-arguments.ts'

const { values, positionals } = parseTaskArguments({
  allowPositionals: true,
  options: { image: { type: 'string' }, out: { type: 'string' } },
})
const layout = onlyArgument(positionals, 'one OCI layout: npm run task -- build:server LAYOUT')
const out = values.out ?? join(repository, 'dist', 'server.img')
console.log(JSON.stringify(await buildServer({ layout, image: values.image, out }), null, 1))
