/** `npm run task -- build:images [NAME…]`: images of the programs as OCI archives in dist/images. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readBuildFacts } from './deploy/build-facts.ts'
import { architectures, buildImage, type ImageName, imageTrees } from './deploy/images.ts'
import { repository } from './deploy/locked-package.ts'
import { makeIndex } from './deploy/oci/image.ts'
import { type Named, writeArchive } from './deploy/oci/layout.ts'
import { formatSbom } from './deploy/sbom.ts'
import { signatureImage, signatureTag, signDigest } from './deploy/sign-image.ts'

const out = join(repository, 'dist', 'images')
mkdirSync(out, { recursive: true })
const facts = readBuildFacts()
const keyPath = process.env.PRIVATEMODE_SIGNING_KEY
const wanted = process.argv.slice(2)
const names = Object.keys(imageTrees).filter((name) => wanted.length === 0 || wanted.includes(name))

for (const name of names as ImageName[]) {
  const images = await Promise.all(architectures.map((each) => buildImage(name, each, facts)))
  const index = makeIndex(images, { 'org.opencontainers.image.version': facts.version })
  const { digest } = index.descriptor
  const named: Named[] = [{ image: index, name: { repository: name, tag: facts.version } }]
  if (keyPath !== undefined) {
    const made = signDigest(name, digest, readFileSync(keyPath, 'utf8'))
    const signature = { repository: name, tag: signatureTag(digest) }
    named.push({ image: signatureImage(made), name: signature })
    writeFileSync(join(out, `${name}.sig.json`), made.payload)
    writeFileSync(join(out, `${name}.sig`), Buffer.from(made.signature).toString('base64'))
  }
  writeArchive(join(out, `${name}-${facts.version}.oci.tar`), named, facts.epochSeconds)
  for (const architecture of architectures) {
    const sbom = formatSbom(name, imageTrees[name], architecture, facts)
    writeFileSync(join(out, `${name}-${architecture}.cdx.json`), sbom)
  }
  console.log(`${name}:${facts.version} ${digest}${keyPath === undefined ? ' (not signed)' : ''}`)
}
