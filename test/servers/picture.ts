/** Small pictures of noise: no two have a pixel in common, and each is the same every time. */
import { createHash } from 'node:crypto'
import { deflateSync } from 'node:zlib'

const side = 56

/** As a `data:` URL. */
export function picture(name: string): string {
  return `data:image/png;base64,${pictureBase64(name)}`
}

export function pictureBase64(name: string): string {
  const rows = Array.from({ length: side }, (_, row) => [
    Buffer.from([0]), // no filter
    ...Array.from({ length: (side * 3) / 24 }, (_, column) =>
      createHash('sha256').update(`${name} ${row} ${column}`).digest().subarray(0, 24),
    ),
  ])
  const size = Buffer.alloc(8)
  size.writeUInt32BE(side, 0)
  size.writeUInt32BE(side, 4)
  const eightBitsOfColor = Buffer.from([8, 2, 0, 0, 0])
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', Buffer.concat([size, eightBitsOfColor])),
    chunk('IDAT', deflateSync(Buffer.concat(rows.flat()))),
    chunk('IEND', Buffer.alloc(0)),
  ]).toString('base64')
}

function chunk(type: string, data: Buffer): Buffer {
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  const body = Buffer.concat([Buffer.from(type), data])
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(Bun.hash.crc32(body))
  return Buffer.concat([length, body, sum])
}
