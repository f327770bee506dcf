/**
 * The services of AMD, Intel and NVIDIA on loopback, and the data a fake GPU tool prints, for
 * tests.
 */
import { createHash } from 'node:crypto'
import { formatOcspRequest } from '@privatemode/attestation/collateral'
import { parseCertificate } from '@privatemode/attestation/inspect'
import type { HardwareWorld } from '../../../../../packages/attestation/src/testing/hardware-world.ts'
import {
  type Authority,
  driverRim,
  formatPem,
  gpuReport,
  type NvidiaWorld,
  signReport,
  vbiosRim,
} from '../../../../../packages/attestation/src/testing/nvidia-world.ts'
import { signRim, writeRim } from '../../../../../packages/attestation/src/testing/rim-writer.ts'
import { issueOcspResponse } from '../../../../../packages/attestation/src/testing/test-ocsp.ts'

type Answer = Response | Promise<Response>
type Handle = (url: URL, request: Request) => Answer

export type FakeVendors = {
  readonly url: string
  /** Method and path of every request, in order. */
  readonly requests: string[]
  /** Replaces the answer for paths with this prefix. */
  readonly instead: Map<string, Handle>
  stop(): void
}

export async function fakeVendors(world: HardwareWorld): Promise<FakeVendors> {
  const requests: string[] = []
  const instead = new Map<string, Handle>()
  const routes: readonly (readonly [RegExp, Handle])[] = [
    ...amdRoutes(world),
    ...(await intelRoutes(world)),
    ...(await nvidiaRoutes(world)),
  ]
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const url = new URL(request.url)
      const path = url.pathname + url.search
      requests.push(`${request.method} ${path}`)
      const other = [...instead].find(([start]) => path.startsWith(start))
      if (other !== undefined) return other[1](url, request)
      const route = routes.find(([pattern]) => pattern.test(path))
      return route === undefined ? new Response('no such', { status: 404 }) : route[1](url, request)
    },
  })
  return {
    url: server.url.href.replace(/\/$/, ''),
    requests,
    instead,
    stop: () => server.stop(true),
  }
}

function amdRoutes({ amd }: HardwareWorld): [RegExp, Handle][] {
  const { arkDer, askDer } = amd.authorities
  return [
    [/^\/kds\/vcek\/v1\/Genoa\/cert_chain$/, () => new Response(formatPem([askDer, arkDer]))],
    [/^\/kds\/vcek\/v1\/Genoa\/crl$/, () => new Response(amd.crl)],
    [
      /^\/kds\/vcek\/v1\/Genoa\/(fffe[0-9a-f]{124})\?blSPL=10&teeSPL=1&snpSPL=23&ucodeSPL=84$/,
      async () => new Response(await amd.issueLeaf()),
    ],
  ]
}

async function intelRoutes({ intel }: HardwareWorld): Promise<[RegExp, Handle][]> {
  const collateral = await intel.makeCollateral()
  const base = '^/pcs/(tdx|sgx)/certification/v4'
  const signed = (member: string, text: string, signature: string, header: string, chain: string) =>
    new Response(`{"${member}":${text},"signature":"${signature}"}`, {
      headers: { [header]: encodeURIComponent(chain) },
    })
  const bytes = (base64: string) => Buffer.from(base64, 'base64')
  return [
    [
      new RegExp(`${base}/tcb\\?fmspc=90c06f000000$`),
      () =>
        signed(
          'tcbInfo',
          collateral.tcb_info,
          collateral.tcb_info_signature,
          'TCB-Info-Issuer-Chain',
          collateral.tcb_info_issuer_chain,
        ),
    ],
    [
      new RegExp(`${base}/qe/identity$`),
      () =>
        signed(
          'enclaveIdentity',
          collateral.qe_identity,
          collateral.qe_identity_signature,
          'SGX-Enclave-Identity-Issuer-Chain',
          collateral.qe_identity_issuer_chain,
        ),
    ],
    [
      new RegExp(`${base}/pckcrl\\?ca=platform&encoding=der$`),
      () => {
        const chain = encodeURIComponent(collateral.pck_crl_issuer_chain)
        return new Response(bytes(collateral.pck_crl), {
          headers: { 'SGX-PCK-CRL-Issuer-Chain': chain },
        })
      },
    ],
    // As served by Intel's caching service: hex.
    [/^\/root-crl$/, () => new Response(bytes(collateral.root_ca_crl).toString('hex'))],
  ]
}

async function nvidiaRoutes({ gpus }: HardwareWorld): Promise<[RegExp, Handle][]> {
  const [first] = gpus
  const rims = new Map([
    ['NV_GPU_DRIVER_GH100_550.90.07', await signRim(writeRim(driverRim), first!.rimSigner)],
    ['NV_GPU_VBIOS_1010_0200_882_96009F0001', await signRim(writeRim(vbiosRim), first!.rimSigner)],
  ])
  return [
    [
      /^\/rim\/v1\/rim\//,
      ({ pathname }) => {
        const id = decodeURIComponent(pathname.split('/').at(-1) ?? '')
        const rim = rims.get(id)
        if (rim === undefined) return new Response('{}', { status: 404 })
        const sha256 = createHash('sha256').update(rim).digest('hex')
        return Response.json({ id, rim: Buffer.from(rim).toString('base64'), sha256 })
      },
    ],
    [
      /^\/ocsp$/,
      async (_, request) => answerOcsp(gpus, new Uint8Array(await request.arrayBuffer())),
    ],
    [
      /^\/gpu\?/,
      async ({ searchParams }) => {
        const nonce = Buffer.from(searchParams.get('nonce') ?? '', 'hex')
        const count = Number(searchParams.get('count') ?? 1)
        const evidences = await Promise.all(
          gpus.slice(0, count).map((gpu) => toolEntry(gpu, nonce)),
        )
        return Response.json({ evidences, result_code: 0, result_message: 'Ok' })
      },
    ],
  ]
}

async function toolEntry(gpu: NvidiaWorld, nonce: Uint8Array) {
  const report = await signReport(gpu, gpuReport(gpu, { nonce }))
  const chain = [gpu.leaf, ...gpu.deviceChain.toReversed()].map(({ certificate }) => certificate)
  return {
    arch: 'HOPPER',
    nonce: Buffer.from(nonce).toString('hex'),
    evidence: Buffer.from(report).toString('base64'),
    certificate: Buffer.from(formatPem(chain)).toString('base64'),
  }
}

async function answerOcsp(gpus: readonly NvidiaWorld[], asked: Uint8Array): Promise<Response> {
  const chains: (readonly Authority[])[] = gpus.flatMap((gpu) => [
    gpu.deviceChain,
    [...gpu.rimAuthorities, gpu.rimSigner],
  ])
  for (const chain of chains) {
    for (const [index, issued] of chain.entries()) {
      const issuer = chain[index - 1]
      if (issuer === undefined) continue
      const about = {
        certificate: parseCertificate(issued.certificate),
        issuer: parseCertificate(issuer.certificate),
      }
      const request = await formatOcspRequest(about.certificate, about.issuer)
      if (!Buffer.from(request).equals(asked)) continue
      const response = await issueOcspResponse({ answers: [about], signer: issuer.subject })
      return new Response(response, { headers: { 'content-type': 'application/ocsp-response' } })
    }
  }
  return new Response(Uint8Array.of(0x30, 3, 0x0a, 1, 6)) // unauthorized
}
