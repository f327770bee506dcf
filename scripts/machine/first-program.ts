/**
 * The first program of the machine, instruction by instruction: it mounts /proc, without which the runtime does not
 * start, and executes the runtime that runs init. Written here, so that no compiler has to be trusted.
 */

const loadAddress = 0x400000
const elfHeaderBytes = 64
const programHeaderBytes = 56
const codeAt = elfHeaderBytes + programHeaderBytes
const codeBytes = 88

/** Linux, x86-64. */
const calls = { mount: 165, execve: 59, exit: 60 } as const
const quietMount = 2 | 4 | 8 // no set-user-id, no devices, no programs

export type FirstProgram = {
  /** Absolute path, then arguments. */
  readonly command: readonly [string, ...string[]]
  readonly environment: readonly string[]
}

/** A static program of one segment (System V ABI, ELF-64). */
export function writeFirstProgram({ command, environment }: FirstProgram): Uint8Array<ArrayBuffer> {
  const data = new DataSegment(loadAddress + codeAt + codeBytes)
  const proc = data.text('proc')
  const target = data.text('/proc')
  const options = data.text('hidepid=2')
  const path = data.text(command[0])
  const args = data.pointers(command.map((word) => data.text(word)))
  const env = data.pointers(environment.map((word) => data.text(word)))
  const mountProc = [
    ...move.eax(calls.mount),
    ...move.edi(proc),
    ...move.esi(target),
    ...move.edx(proc),
    ...move.r10d(quietMount),
    ...move.r8d(options),
    ...systemCall,
  ]
  const becomeRuntime = [
    ...move.eax(calls.execve),
    ...move.edi(path),
    ...move.esi(args),
    ...move.edx(env),
    ...systemCall,
  ]
  const fail = [...move.eax(calls.exit), ...move.edi(1), ...systemCall]
  const skipIfFailed = [0x85, 0xc0, 0x75, becomeRuntime.length] // test eax, eax; jnz
  const code = [...mountProc, ...skipIfFailed, ...becomeRuntime, ...fail]
  if (code.length > codeBytes) throw new Error(`the first program has ${code.length} bytes`)
  const file = new Uint8Array(codeAt + codeBytes + data.length)
  file.set(formatHeaders(file.length))
  file.set(code, codeAt)
  file.set(data.bytes(), codeAt + codeBytes)
  return file
}

const immediate = (value: number) =>
  [value, value >> 8, value >> 16, value >> 24].map((one) => one & 0xff)
const move = {
  eax: (value: number) => [0xb8, ...immediate(value)],
  edi: (value: number) => [0xbf, ...immediate(value)],
  esi: (value: number) => [0xbe, ...immediate(value)],
  edx: (value: number) => [0xba, ...immediate(value)],
  r10d: (value: number) => [0x41, 0xba, ...immediate(value)],
  r8d: (value: number) => [0x41, 0xb8, ...immediate(value)],
} as const
const systemCall = [0x0f, 0x05]

function formatHeaders(size: number): Uint8Array {
  const header = Buffer.alloc(codeAt)
  header.write('\x7fELF\x02\x01\x01', 'latin1') // 64 bits, little-endian, version 1
  header.writeUInt16LE(2, 16) // a program
  header.writeUInt16LE(62, 18) // x86-64
  header.writeUInt32LE(1, 20)
  header.writeBigUInt64LE(BigInt(loadAddress + codeAt), 24)
  header.writeBigUInt64LE(BigInt(elfHeaderBytes), 32)
  header.writeUInt16LE(elfHeaderBytes, 52)
  header.writeUInt16LE(programHeaderBytes, 54)
  header.writeUInt16LE(1, 56)
  header.writeUInt32LE(1, elfHeaderBytes) // to be loaded
  header.writeUInt32LE(5, elfHeaderBytes + 4) // read and run
  header.writeBigUInt64LE(BigInt(loadAddress), elfHeaderBytes + 16)
  header.writeBigUInt64LE(BigInt(loadAddress), elfHeaderBytes + 24)
  header.writeBigUInt64LE(BigInt(size), elfHeaderBytes + 32)
  header.writeBigUInt64LE(BigInt(size), elfHeaderBytes + 40)
  header.writeBigUInt64LE(4096n, elfHeaderBytes + 48)
  return header
}

/** Texts and lists of their addresses; each call returns where it put something. */
class DataSegment {
  readonly #start: number
  readonly #parts: Buffer[] = []
  length = 0

  constructor(start: number) {
    this.#start = start
  }

  text(value: string): number {
    return this.#put(Buffer.from(`${value}\0`))
  }

  pointers(addresses: readonly number[]): number {
    this.#put(Buffer.alloc((8 - ((this.#start + this.length) % 8)) % 8))
    const list = Buffer.alloc((addresses.length + 1) * 8)
    addresses.forEach((address, index) => {
      list.writeBigUInt64LE(BigInt(address), index * 8)
    })
    return this.#put(list)
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#parts)
  }

  #put(part: Buffer): number {
    const at = this.#start + this.length
    this.#parts.push(part)
    this.length += part.length
    return at
  }
}
