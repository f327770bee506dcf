/** The gateway's certificate is renewed in its secret while clients ask. */
import { connect } from 'node:tls'
import { deployments } from './rollouts.ts'
import type { Scene } from './scene.ts'
import { mustLoseNothing, startTraffic } from './traffic.ts'

export async function tryRenewal({ cluster, rows, page }: Scene): Promise<void> {
  await rows.try('the page: Renew the certificate, under traffic', async () => {
    const address = await cluster.addressOf(deployments.gateway)
    const before = await serialOf(address)
    const traffic = startTraffic(`http://${await cluster.addressOf(deployments.proxy)}:8080`)
    try {
      await page.run('Renew the certificate', cluster)
    } finally {
      await traffic.end(0)
    }
    const outcome = mustLoseNothing(await traffic.end(0))
    // For a moment a gateway that leaves may still be asked.
    let after = before
    await cluster.until('the new certificate', async () => {
      after = await serialOf(address)
      return after !== before
    })
    return `serial ${before.slice(0, 8)}… became ${after.slice(0, 8)}…; ${outcome}`
  })
}

function serialOf(host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: 8090, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().serialNumber)
      socket.end()
    })
    socket.on('error', reject)
  })
}
