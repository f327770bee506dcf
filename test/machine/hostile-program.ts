/**
 * Runs in the machine in place of the worker, as an attacker would who has taken it over: tries to get out, and to
 * get at what is not its own. Prints one line for each trial; `allowed` is what the test must not see. Alone in a file,
 * without imports from this repository: the machine has only this.
 */
import { spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'

const argument = (name: string) => process.argv[process.argv.indexOf(`--${name}`) + 1] ?? ''
const gateway = new URL(argument('gatewayUrl'))

const tell = (trial: string, verdict: 'allowed' | 'refused', detail = '') =>
  console.log(`trial: ${trial}: ${verdict} ${detail}`.trim())

function reaches(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host)
    const done = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.setTimeout(8_000, () => done(false))
    socket.once('connect', () => done(true))
    socket.once('error', () => done(false))
  })
}

function asks(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4')
    const done = (isAnswered: boolean) => {
      socket.close()
      resolve(isAnswered)
    }
    const timer = setTimeout(() => done(false), 8_000)
    socket.once('message', () => {
      clearTimeout(timer)
      done(true)
    })
    socket.once('error', () => done(false))
    // A question for the name "a" (RFC 1035): a resolver answers it, with an error if need be.
    const query = '0001010000010000000000000161000001'.concat('0001')
    socket.send(Buffer.from(query, 'hex'), port, host)
  })
}

async function tryOut(trial: string, isOut: Promise<boolean>) {
  tell(trial, (await isOut) ? 'allowed' : 'refused')
}

function attempt(trial: string, act: () => unknown) {
  try {
    const seen = act()
    tell(trial, 'allowed', String(seen ?? '').slice(0, 80))
  } catch (error) {
    tell(trial, 'refused', (error as NodeJS.ErrnoException).code ?? 'error')
  }
}

function found(isFound: boolean): true {
  if (isFound) return true
  throw Object.assign(new Error('nothing is there'), { code: 'nothing' })
}

function processes(): string[] {
  const numbers = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return numbers.map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
}

function start(command: string) {
  const { error, status, signal } = spawnSync(command, ['-c', 'true'], { timeout: 5_000 })
  if (error !== undefined) throw error
  return `${status} ${signal ?? ''}`
}

// The positive control: without it, "refused" could mean that nothing works.
await tryOut('the gateway on its port', reaches(gateway.hostname, Number(gateway.port)))
await tryOut('the gateway on another port', reaches(gateway.hostname, Number(gateway.port) + 1))
await tryOut('another address', reaches('10.0.2.4', 80))
await tryOut('an address on the internet', reaches('192.0.2.1', 443))
await tryOut('a resolver', asks('10.0.2.3', 53))
for (const shell of ['/bin/sh', '/bin/bash', '/usr/bin/crun', '/usr/sbin/nft', '/bin/busybox']) {
  attempt(`start ${shell}`, () => start(shell))
}
attempt('write to the root', () => writeFileSync('/etc/passwd', 'x'))
attempt('write to the weights', () => appendFileSync('/weights/x', 'x'))
attempt('read a disk', () => readFileSync('/dev/vda').length)
// A masked file reads as empty.
attempt('read kernel memory', () => found(readFileSync('/proc/kcore').length > 0))
attempt('read kernel messages', () => readFileSync('/dev/kmsg').length)
attempt('see the first program', () =>
  found(processes().some((line) => line.includes('/machine/'))),
)
attempt('turn modules on', () => writeFileSync('/proc/sys/kernel/modules_disabled', '0'))
attempt('set a core pattern', () => writeFileSync('/proc/sys/kernel/core_pattern', '|/x'))
attempt('see a disk or memory as a device', () => {
  const devices = readdirSync('/dev').filter((name) =>
    /^(vd|dm|mem|port|kmsg|sd|mapper)/.test(name),
  )
  return found(devices.length > 0) && devices.join(' ')
})
const capabilities = /CapEff:\s*(\w+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
tell('capabilities', capabilities === '0000000000000000' ? 'refused' : 'allowed', capabilities)
console.log('trial: end')
await new Promise(() => {})
