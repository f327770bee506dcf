/** An image with the interface of `postgres:18`, out of the PostgreSQL of this machine. */
import { readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { findPostgres } from '../../apps/gateway/src/testing/postgres-server.ts'
import { userId } from '../../scripts/deploy/debian-root.ts'
import { run } from '../../scripts/deploy/locked-package.ts'
import type { TarEntry } from '../../scripts/deploy/oci/tar.ts'
import {
  file,
  filesBelow,
  type ImageFiles,
  isThere,
  librariesOf,
  link,
  packImage,
  type TestImage,
  text,
} from '../confined/program-image.ts'

/** Why no such image can be made; undefined where it can. */
export function missingForPostgresImage(): string | undefined {
  const bin = findPostgres()
  return bin !== undefined && isThere(join(bin, 'pg_isready'))
    ? undefined
    : 'there is no PostgreSQL with pg_isready (Debian: postgresql)'
}

export const makePostgresImage = (folder: string, tag: string): TestImage =>
  packImage(folder, 'postgres', tag, postgres())

/** The server that the gateway's tests use, with a shell, which its `initdb` needs, and the time zones. */
function postgres(): ImageFiles {
  const bin = findPostgres()
  if (bin === undefined) throw new Error('there is no PostgreSQL; npm ci installs one')
  const version = /(\d+)/.exec(run([join(bin, 'postgres'), '--version']))?.[1] ?? ''
  const root = join(bin, '..')
  // Debian's server looks for its files where it was installed; the package's finds them beside itself.
  const home = root.startsWith('/usr/') ? root.slice(1) : 'usr/lib/postgresql/here'
  const programs = ['postgres', 'initdb', 'pg_isready', 'pg_dump', 'pg_restore']
    .map((name) => join(bin, name))
    .filter(isThere)
  const trees = [join(root, 'lib'), join(root, 'share'), `/usr/share/postgresql/${version}`]
  const entries: TarEntry[] = [
    ...programs.map((path) => file(`${home}/bin/${basename(path)}`, path)),
    ...programs.map((path) => link(`usr/bin/${basename(path)}`, `/${home}/bin/${basename(path)}`)),
    ...trees.filter(isThere).flatMap((tree) =>
      filesBelow(tree).map((path) => {
        const inside = tree.startsWith(root) ? `${home}/${relative(root, path)}` : path.slice(1)
        return file(inside, path)
      }),
    ),
    ...packageLinks(root, home),
    file('bin/sh', '/bin/sh'),
    ...librariesOf([...programs, '/bin/sh']),
    ...(isThere('/usr/share/zoneinfo')
      ? [file('usr/share/zoneinfo/UTC', '/usr/share/zoneinfo/UTC')]
      : []),
    text('entrypoint.sh', postgresEntrypoint),
    { kind: 'folder', path: 'var/lib/postgresql', mode: 0o1777 },
    { kind: 'folder', path: 'var/run/postgresql', mode: 0o1777 },
    text('etc/passwd', `postgres:x:${userId}:${userId}::/tmp:/none\n`),
  ]
  const byPath = new Map(entries.map((entry) => [entry.path, entry]))
  return { entries: [...byPath.values()], entrypoint: ['/bin/sh', '/entrypoint.sh'] }
}

/** What the image of PostgreSQL's makers does with these variables. */
const postgresEntrypoint = `set -e
data=/var/lib/postgresql/data
if [ ! -s $data/PG_VERSION ]; then
  initdb -D $data -U "$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth=scram-sha-256 -E UTF8 --locale=C
  echo 'host all all all scram-sha-256' >> $data/pg_hba.conf
  echo "CREATE DATABASE $POSTGRES_DB" | postgres --single -D $data postgres
fi
# Told to end, it does not wait for its clients, as the original is set up to.
postgres -D $data -h 0.0.0.0 -k /var/run/postgresql &
trap 'kill -INT $!' TERM INT
wait $! || wait $!
`

/** Links that the npm package would make in an install script. */
function packageLinks(root: string, home: string): TarEntry[] {
  const list = join(root, 'pg-symlinks.json')
  if (!isThere(list)) return []
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  return links.map(({ source, target }) =>
    link(target.replace(/^native/, home), relative(dirname(target), source)),
  )
}
