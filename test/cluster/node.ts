/** Controllers, scheduler, and one real node: containerd, kubelet, kube-proxy, kube-router for policies, and CoreDNS. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Parts, untilReady } from '../confined/parts.ts'
import { nodeAddress, nodeName, podRange, serviceRange } from '../confined/prepare-namespaces.ts'
import { kubeconfigOf } from './api-server.ts'
import type { Programs } from './go-programs.ts'
import { cniFolder } from './requirements.ts'

export const containerdSocket = '/run/containerd/containerd.sock'

/** A kubelet that does not find it gives up at once. */
export async function startContainerd(parts: Parts): Promise<void> {
  mkdirSync('/run/containerd', { recursive: true })
  parts.write('config/cni/10-pods.conflist', JSON.stringify(podNetwork))
  const config = parts.write('config/containerd.toml', containerdConfig(parts.work))
  parts.start('containerd', ['containerd', '--config', config])
  const asked = ['ctr', '--address', containerdSocket, 'version']
  await untilReady('containerd', () => Bun.spawnSync(asked).exitCode === 0)
}

export function startNode(parts: Parts, programs: Programs): void {
  const pki = parts.folder('pki')
  parts.write('config/resolv.conf', '')
  const conf = (name: string) => kubeconfigOf(parts, name)
  const asUser = (name: string) => [
    ...['--kubeconfig', conf(name), '--authentication-kubeconfig', conf(name)],
    ...['--authorization-kubeconfig', conf(name), '--bind-address', '127.0.0.1'],
    '--leader-elect=false',
  ]
  parts.start('kube-controller-manager', [
    ...[programs['kube-controller-manager'], ...asUser('controllers')],
    ...['--cluster-cidr', podRange, '--allocate-node-cidrs=false'],
    ...['--root-ca-file', join(pki, 'ca.crt'), '--use-service-account-credentials'],
    ...['--service-account-private-key-file', join(pki, 'accounts.key')],
  ])
  parts.start('kube-scheduler', [programs['kube-scheduler'], ...asUser('scheduler')])
  const kubelet = JSON.stringify(
    kubeletConfig(join(parts.work, 'config'), pki, parts.folder('flex')),
  )
  parts.start('kubelet', [
    ...[programs.kubelet, '--kubeconfig', conf('kubelet')],
    ...['--config', parts.write('config/kubelet.json', kubelet)],
    ...['--hostname-override', nodeName, '--node-ip', nodeAddress],
    ...['--root-dir', parts.folder('kubelet'), '--cert-dir', pki],
  ])
  const proxy = JSON.stringify(kubeProxyConfig(conf('proxy')))
  const proxyConfig = parts.write('config/kube-proxy.json', proxy)
  parts.start('kube-proxy', [programs['kube-proxy'], '--config', proxyConfig])
  const names = parts.write('config/Corefile', corefile(conf('admin')))
  parts.start('coredns', [programs.coredns, '-conf', names])
}

/** What enforces network policies; it gives up where its node is not registered yet. */
export function startPolicies(parts: Parts, programs: Programs): void {
  parts.start('kube-router', [
    ...[programs['kube-router'], '--kubeconfig', kubeconfigOf(parts, 'admin')],
    ...['--run-firewall=true', '--run-router=false', '--run-service-proxy=false'],
    ...['--enable-cni=false', '--hostname-override', nodeName],
    ...['--service-cluster-ip-range', serviceRange],
  ])
}

/** Routed, not bridged: translated addresses of services then work between pods of one node without further settings. */
const podNetwork = {
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      type: 'ptp',
      ipam: {
        type: 'host-local',
        ranges: [[{ subnet: podRange }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
}

const containerdConfig = (work: string) => `version = 2
root = "${work}/containerd"
state = "/run/containerd/state"
[grpc]
  address = "${containerdSocket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.internal/pause:1"
  restrict_oom_score_adj = true
  disable_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${work}/config/certs.d"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${cniFolder}"
    conf_dir = "${work}/config/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
`

function kubeletConfig(config: string, pki: string, flex: string): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    failCgroupV1: false,
    failSwapOn: false,
    cgroupDriver: 'cgroupfs',
    containerRuntimeEndpoint: `unix://${containerdSocket}`,
    clusterDNS: [nodeAddress],
    clusterDomain: 'cluster.local',
    resolvConf: join(config, 'resolv.conf'),
    // Not every machine lets root lower it.
    oomScoreAdj: 0,
    readOnlyPort: 0,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: join(pki, 'ca.crt') },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: join(pki, 'kubelet.crt'),
    tlsPrivateKeyFile: join(pki, 'kubelet.key'),
    evictionHard: {
      'memory.available': '100Mi',
      'nodefs.available': '1%',
      'imagefs.available': '1%',
    },
    imageGCHighThresholdPercent: 100,
    volumePluginDir: flex,
    // Secrets that change reach their pods soon.
    configMapAndSecretChangeDetectionStrategy: 'Watch',
    syncFrequency: '5s',
  }
}

function kubeProxyConfig(kubeconfig: string): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    clusterCIDR: podRange,
    // The machine's table of connections is not ours to size.
    conntrack: { maxPerCore: 0, min: 0 },
    clientConnection: { kubeconfig },
    hostnameOverride: nodeName,
  }
}

const corefile = (kubeconfig: string) => `cluster.local:53 {
  errors
  kubernetes cluster.local {
    kubeconfig ${kubeconfig}
    ttl 5
  }
}
`
