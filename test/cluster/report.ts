/** Writes the last table of a run into docs/operations.md, between its marks, with the versions that were used. */
import { formatRows, type Row } from '../confined/rows.ts'
import { writeBetween } from '../confined/write-between.ts'

export function writeIntoOperations(
  rows: readonly Row[],
  kubernetes: string,
  vllm: string | undefined,
): void {
  const said = (...command: string[]) => Bun.spawnSync(command).stdout.toString()
  const version = (text: string) => /v?(\d+\.\d+[\d.]*)/.exec(text)?.[1] ?? 'unknown'
  const versions = [
    `Kubernetes ${kubernetes} (API server, controllers, scheduler, kubelet, kube-proxy)`,
    `containerd ${version(said('containerd', '--version'))}`,
    `runc ${version(said('runc', '--version'))}`,
    `etcd ${version(said('etcd', '--version'))}`,
    `Linux ${version(said('uname', '-r'))}`,
    ...(vllm === undefined ? [] : [`vLLM ${vllm}`]),
  ].join(', ')
  const date = new Date().toISOString().slice(0, 10)
  const mark = vllm === undefined ? 'cluster' : 'cluster with vllm'
  writeBetween(mark, `${date}, ${versions}:\n\n${formatRows(rows)}`)
}
