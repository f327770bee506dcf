/** `npm run task -- build:portal`: builds the pages into a directory, by default `apps/portal/dist`. */
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPortal } from './build.ts'

const target = process.argv[2] ?? fileURLToPath(new URL('../dist', import.meta.url))
const { folder, files } = await buildPortal(resolve(target))
for (const { name, bytes } of files) process.stdout.write(`${String(bytes).padStart(8)}  ${name}\n`)
process.stdout.write(`built into ${folder}\n`)
