/** The machine in QEMU, without confidential hardware: what it prints, and how it ends. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunningProgram, startProgram } from '../deploy/running-program.ts'
import type { Qemu } from './qemu.ts'

export type Disk = { readonly serial: string; readonly file: string }

export type VirtualMachine = {
  readonly qemu: Qemu
  /** A folder of build:machine. */
  readonly machine: string
  /** The firmware to start with. */
  readonly firmware: string
  readonly work: string
  readonly disks: readonly Disk[]
  /** Ports of this system by port of the machine. */
  readonly ports: Readonly<Record<number, number>>
  readonly host: object
  readonly commandLine?: string
}

export const machineAddress = '10.0.2.15'
/** How the machine reaches this system's loopback. */
export const hostAddress = '10.0.2.2'

export function startMachine(options: VirtualMachine): RunningProgram {
  const { machine, work, ports } = options
  mkdirSync(work, { recursive: true })
  const disks = [
    ...options.disks,
    document(work, 'config', readFileSync(join(machine, 'config.json'))),
    document(work, 'host', Buffer.from(JSON.stringify(options.host))),
  ]
  const forwards = Object.entries(ports).map(
    ([inside, outside]) => `,hostfwd=tcp:127.0.0.1:${outside}-${machineAddress}:${inside}`,
  )
  return startProgram([
    ...options.qemu.command,
    ...['-machine', 'q35', '-accel', 'tcg', '-cpu', 'max', '-smp', '1', '-m', '2048'],
    ...['-nodefaults', '-display', 'none', '-no-reboot', '-serial', 'stdio'],
    ...['-bios', options.firmware],
    ...['-kernel', join(machine, 'kernel'), '-initrd', join(machine, 'initrd')],
    ...['-append', options.commandLine ?? readFileSync(join(machine, 'cmdline'), 'utf8')],
    ...disks.flatMap(({ serial, file }) => [
      ...['-drive', `if=none,id=${serial},file=${file},format=raw,readonly=on`],
      ...['-device', `virtio-blk-pci,drive=${serial},serial=${serial}`],
    ]),
    ...['-netdev', `user,id=net${forwards.join('')}`],
    ...['-device', 'virtio-net-pci,netdev=net,romfile='],
  ])
}

/** A document on a disk of whole sectors. */
function document(work: string, serial: string, content: Buffer): Disk {
  const file = join(work, `${serial}.disk`)
  writeFileSync(file, Buffer.concat([content, Buffer.alloc(4096 - (content.length % 4096))]))
  return { serial, file }
}
