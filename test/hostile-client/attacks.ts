/** Lasting attacks: what an attacker keeps up while other clients work. */
import { randomBytes } from 'node:crypto'
import type { Bytes } from '@privatemode/protocol/envelope'
import { bodyFrames, emptyFrames, tinyRecords } from '../protocol/crafted-request.ts'
import { SealingAttacker } from './sealing-attacker.ts'
import type { Target, TargetName } from './target.ts'
import { Wire } from './wire.ts'

/** Counts the attacker's results, by a short name. */
export type Note = (what: string) => void

export type Attack = {
  readonly name: string
  /** Starts it; resolves once it is running. `scale` 1 is the size of the long form. */
  readonly run: (target: Target, scale: number, note: Note) => Promise<void>
  readonly against: readonly TargetName[]
  /** The program whose memory is watched, if it is not the one that is attacked. */
  readonly harms?: 'worker'
}

const all = ['proxy', 'proxyless', 'gateway'] as const
const clients = ['proxy', 'proxyless'] as const
const keyed = ['proxyless', 'gateway'] as const
const held: Wire[] = []
const maxOpenedAgain = 8

/** Opens connections that send this prefix, and replaces each that the server closes. */
async function hold(
  target: Target,
  count: number,
  start: (wire: Wire) => void,
  note: Note,
  keepUp?: { readonly everyMs: number; readonly act: (wire: Wire) => void },
): Promise<void> {
  for (let i = 0; i < count; i++) {
    const wire = await Wire.open(target).catch(() => undefined)
    note(wire === undefined ? 'refused' : 'opened')
    if (wire === undefined) continue
    start(wire)
    held.push(wire)
  }
  setInterval(() => {
    let opening = 0
    for (const [index, wire] of held.entries()) {
      if (!wire.isClosed) {
        keepUp?.act(wire)
        continue
      }
      // The attack is holding connections, not reopening them in a flood.
      if (++opening > maxOpenedAgain) continue
      note(/^HTTP\/1\.1 (\d+)/.exec(wire.text)?.[1] ?? 'cut')
      held.splice(index, 1)
      Wire.open(target).then(
        (next) => {
          start(next)
          held.push(next)
        },
        () => note('refused'),
      )
    }
  }, keepUp?.everyMs ?? 1000)
}

/** Sends messages in a row on this many connections, and records each status. */
async function flood(
  target: Target,
  lanes: number,
  message: () => string | Uint8Array,
  note: Note,
): Promise<void> {
  const lane = async () => {
    for (;;) {
      try {
        const wire = await Wire.open(target)
        wire.send(message())
        const { statuses } = await wire.answer(30_000)
        note(String(statuses[0] ?? 'cut'))
        wire.close()
      } catch {
        note('refused')
        await Bun.sleep(50)
      }
    }
  }
  for (let i = 0; i < lanes; i++) void lane()
}

/** Seals the same costly request repeatedly, on three lanes as in the long form. */
async function floodSealed(
  target: Target,
  scale: number,
  frames: () => Iterable<Bytes>,
  note: Note,
): Promise<void> {
  const attacker = await SealingAttacker.connect(target)
  const lane = async () => {
    for (;;) note(await attacker.send(frames()).catch(() => 'cut'))
  }
  for (let i = 0; i < scaled(3, scale); i++) void lane()
}

const head = (target: Target, length: number, more = '', path = target.jsonPath) =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${target.auth}${more}content-length: ${length}\r\n\r\n`

const whole = (target: Target, body: string | Uint8Array, more = '') =>
  Buffer.concat([Buffer.from(head(target, Buffer.byteLength(body), more)), Buffer.from(body)])

const chat = (content: string, more: object = {}) =>
  JSON.stringify({ model: 'scripted', messages: [{ role: 'user', content }], ...more })

const scaled = (count: number, scale: number) => Math.max(1, Math.round(count * scale))
const guess = () =>
  `authorization: Bearer pm_${randomBytes(4).toString('hex')}_${randomBytes(22).toString('hex').slice(0, 43)}\r\n`

export const attacks: readonly Attack[] = [
  {
    name: 'heads a byte at a time',
    against: all,
    run: (target, scale, note) =>
      hold(target, scaled(500, scale), (wire) => wire.send('GET / HTTP/1.1\r\nx: '), note, {
        everyMs: 500,
        act: (wire) => wire.send('y'),
      }),
  },
  {
    name: 'bodies a byte at a time',
    against: all,
    run: (target, scale, note) =>
      hold(target, scaled(500, scale), (wire) => wire.send(head(target, 900_000)), note, {
        everyMs: 500,
        act: (wire) => wire.send(' '),
      }),
  },
  {
    name: 'connections that say nothing',
    against: all,
    run: (target, scale, note) => hold(target, scaled(3000, scale), () => {}, note),
  },
  {
    name: 'large bodies that never end',
    against: clients,
    run: (target, scale, note) => {
      const piece = new Uint8Array(24 * 1024 * 1024).fill(0x20)
      const start = (wire: Wire) => {
        wire.send(head(target, 31 * 1024 * 1024))
        wire.send(piece)
      }
      return hold(target, scaled(60, scale), start, note)
    },
  },
  {
    name: 'large bodies that never end, small limit',
    against: ['gateway'],
    run: (target, scale, note) => {
      const piece = new Uint8Array(1_000_000).fill(0x20)
      const start = (wire: Wire) => {
        wire.send(head(target, 1_048_000))
        wire.send(piece)
      }
      return hold(target, scaled(1000, scale), start, note)
    },
  },
  {
    name: 'answers that are never read',
    against: clients,
    run: (target, scale, note) => {
      // Many choices: the model server has little to prepare, so that the impact on others is ours.
      const body = chat('[[words 2000]]', { stream: true, n: 100 })
      const start = (wire: Wire) => {
        wire.pause()
        wire.send(whole(target, body))
      }
      return hold(target, scaled(20, scale), start, note)
    },
  },
  {
    name: 'idle streams',
    against: clients,
    run: (target, scale, note) => {
      const body = whole(target, chat('[[slow 3600000]] wait', { stream: true }))
      // Clients of one proxy share its key, and so its share of the worker: 205 of 256.
      const count = target.name === 'proxy' ? 150 : 2000
      return hold(target, scaled(count, scale), (wire) => wire.send(body), note)
    },
  },
  {
    name: 'streams begun and dropped',
    against: clients,
    run: async (target, scale, note) => {
      const body = whole(target, chat('[[words 500]] [[pace 5]]', { stream: true }))
      const lane = async () => {
        for (;;) {
          const wire = await Wire.open(target)
          wire.send(body)
          await wire.until((text) => text.includes('data:'), 10_000)
          note('dropped')
          wire.close()
          await Bun.sleep(20)
        }
      }
      for (let i = 0; i < scaled(16, scale); i++) void lane()
    },
  },
  {
    name: 'gzip bombs',
    against: clients,
    run: (target, scale, note) => {
      const bomb = Bun.gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20), { level: 9 })
      const message = whole(target, bomb, 'content-encoding: gzip\r\n')
      return flood(target, scaled(4, scale), () => message, note)
    },
  },
  {
    name: 'JSON bombs',
    against: clients,
    run: (target, scale, note) => {
      const keys = Array.from({ length: 100_000 }, (_, i) => `"k${i}":0`).join()
      const bodies = [`{"x":${'['.repeat(1_000_000)}`, `{${keys}}`, '{"a":1'.repeat(200_000)]
      const messages = bodies.map((body) => whole(target, body))
      let turn = 0
      return flood(target, scaled(4, scale), () => messages[turn++ % messages.length] ?? '', note)
    },
  },
  {
    name: 'keys guessed',
    against: keyed,
    run: (target, scale, note) => {
      const path = target.name === 'gateway' ? '/privatemode/v1/directory' : '/v1/models'
      const message = () => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${guess()}\r\n`
      return flood(target, scaled(16, scale), message, note)
    },
  },
  {
    name: 'sealed records of one byte',
    against: ['gateway'],
    harms: 'worker',
    run: (target, scale, note) =>
      floodSealed(target, scale, () => tinyRecords(scaled(6_000_000, scale)), note),
  },
  {
    name: 'sealed frames without bytes',
    against: ['gateway'],
    harms: 'worker',
    run: (target, scale, note) =>
      floodSealed(target, scale, () => emptyFrames(scaled(300_000, scale)), note),
  },
  {
    name: 'sealed JSON of tiny values',
    against: ['gateway'],
    harms: 'worker',
    run: (target, scale, note) => {
      const values = '{},'.repeat(scaled(11_000_000, scale))
      const body = Buffer.from(`{"model":"scripted","messages":[${values}{}]}`)
      return floodSealed(target, scale, () => bodyFrames(body), note)
    },
  },
  {
    name: 'sealed JSON of escapes',
    against: ['gateway'],
    harms: 'worker',
    run: (target, scale, note) => {
      // No message may be of this role, so it does not reach a model server either.
      const content = '\n"'.repeat(scaled(8_500_000, scale))
      const messages = [{ role: 'nobody', content }]
      const body = Buffer.from(JSON.stringify({ model: 'scripted', messages }))
      return floodSealed(target, scale, () => bodyFrames(body), note)
    },
  },
  {
    name: 'sealed requests of 34 MB',
    against: ['gateway'],
    harms: 'worker',
    run: (target, scale, note) => {
      // Refused for its messages after opening and parsing, before it reaches a model server.
      const padding = 'x '.repeat(scaled(17_000_000, scale))
      const body = Buffer.from(JSON.stringify({ model: 'scripted', messages: [], padding }))
      return floodSealed(target, scale, () => bodyFrames(body), note)
    },
  },
]
