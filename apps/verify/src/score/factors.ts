/**
 * The 45 factors by which reviewers in this field assess providers of private inference, under the
 * names they publish (github.com/13rac1/teep, README), each with how a verification shows it.
 */
import {
  byChecks,
  byDevices,
  byHardware,
  type Judge,
  notApplicable,
  notChecked,
  notMet,
} from './judge-factor.ts'

export type Factor = { readonly name: string; readonly asks: string; readonly judge: Judge }

const either = (snp: readonly RegExp[], tdx: readonly RegExp[]): Judge =>
  byHardware({ snp: byChecks(...snp), tdx: byChecks(...tdx) })
const binding = /^binding\/report-data$/
const report = either([/^snp\/report$/], [/^tdx\/quote$/])
const measured = either([/^snp\/measurement$/], [/^tdx\/measurements$/])

const machine = {
  nonce: byChecks(binding),
  present: report,
  structure: report,
  chain: either([/^snp\/chain\//], [/^tdx\/pck-chain\//]),
  signature: either([/^snp\/report-signature$/], [/^tdx\/quote-signature$/]),
  debug: either([/^snp\/debug$/], [/^tdx\/debug$/]),
  measurement: either([/^snp\/measurement$/], [/^tdx\/measurements$/, /^tdx\/mr-seam$/]),
  hardwareConfig: either(
    [/^snp\/measurement$/, /^snp\/platform$/, /^snp\/guest-policy$/],
    [/^tdx\/measurements$/, /^tdx\/td-attributes$/],
  ),
  bootConfig: measured,
  reportData: byChecks(binding),
  registry: either([/^snp\/listed-chip$/], [/^tdx\/listed-platform$/]),
  composition: either([/^snp\/host-data$/], [/^tdx\/mr-config-id$/]),
} as const

const eventLog = notChecked(
  'no event log is replayed: final values are compared with those that the manifest lists',
)

export const factors: readonly Factor[] = [
  { name: 'nonce_match', asks: 'is the answer for our nonce?', judge: machine.nonce },
  { name: 'tee_quote_present', asks: 'is there a report of the CPU?', judge: machine.present },
  { name: 'tee_quote_structure', asks: 'is it well formed?', judge: machine.structure },
  {
    name: 'tee_cert_chain',
    asks: "does its chain end in the vendor's root?",
    judge: machine.chain,
  },
  { name: 'tee_quote_signature', asks: 'is it signed by the hardware?', judge: machine.signature },
  { name: 'tee_debug_disabled', asks: 'is debugging off?', judge: machine.debug },
  {
    name: 'tee_measurement',
    asks: 'is the firmware one that is listed?',
    judge: machine.measurement,
  },
  {
    name: 'tee_hardware_config',
    asks: 'is the virtual hardware one that is listed?',
    judge: machine.hardwareConfig,
  },
  {
    name: 'tee_boot_config',
    asks: 'are kernel, command line and initrd listed?',
    judge: machine.bootConfig,
  },
  {
    name: 'signing_key_present',
    asks: 'does the machine name its key?',
    judge: byChecks(/^statement\/form$/),
  },
  {
    name: 'response_schema',
    asks: 'has the answer no unknown or missing members?',
    judge: byChecks(/^bundle\/form$/, /^statement\/form$/),
  },
  {
    name: 'tee_reportdata_binding',
    asks: 'does the report bind that key?',
    judge: machine.reportData,
  },
  {
    name: 'intel_pcs_collateral',
    asks: "are Intel's documents there and signed?",
    judge: byHardware({
      snp: notApplicable('AMD publishes no TCB documents; its certificates carry the TCB'),
      tdx: byChecks(/^tdx\/tcb-info\//, /^tdx\/qe-identity\//),
    }),
  },
  {
    name: 'tee_tcb_current',
    asks: 'is the TCB recent enough?',
    judge: either(
      [/^snp\/(reported|committed|launch)-tcb-minimum$/],
      [/^tdx\/tcb-accepted$/, /^tdx\/tcb-evaluation$/, /^tdx\/qe-evaluation$/],
    ),
  },
  {
    name: 'tee_tcb_not_revoked',
    asks: 'is it not revoked?',
    judge: either([/^snp\/revocation$/], [/^tdx\/tcb-status$/, /^tdx\/pck-revocation$/]),
  },
  {
    name: 'nvidia_payload_present',
    asks: 'are there reports of the GPUs?',
    judge: byDevices(byChecks(/^nvidia\/report$/)),
  },
  {
    name: 'nvidia_signature',
    asks: 'are they signed by the devices?',
    judge: byDevices(byChecks(/^nvidia\/report-signature$/)),
  },
  {
    name: 'nvidia_claims',
    asks: 'are number and kind of GPUs as listed?',
    judge: byDevices(byChecks(/^devices\/nvidia-gpu$/, /^nvidia\/manifest\/architecture$/)),
  },
  {
    name: 'nvidia_nonce_client_bound',
    asks: 'are they for a nonce that comes from ours?',
    judge: byDevices(byChecks(/^nvidia\/nonce$/)),
  },
  {
    name: 'nvidia_nras_verified',
    asks: "is the firmware NVIDIA's own, by its reference values?",
    judge: byDevices(byChecks(/^nvidia\/rim\/(driver|vbios)\/measurements$/)),
  },
  {
    name: 'e2ee_capable',
    asks: 'is there all that end-to-end encryption needs?',
    judge: byChecks(/^statement\/form$/, /^statement\/seal-key-expiry$/),
  },
  {
    name: 'e2ee_usable',
    asks: 'did a sealed exchange with that key succeed?',
    judge: byChecks(/^receipt\/signature$/),
  },
  {
    name: 'tls_key_binding',
    asks: 'is the key of TLS in the report?',
    judge: notApplicable('nothing trusts TLS: requests are sealed to the key in the report'),
  },
  {
    name: 'cpu_gpu_chain',
    asks: 'does the report of the CPU bind those of the GPUs?',
    judge: byDevices(byChecks(binding, /^nvidia\/nonce$/)),
  },
  {
    name: 'nvswitch_binding',
    asks: 'is the fabric between the GPUs attested?',
    judge: byDevices((seen) => {
      const isSingle = seen.checks.some(
        ({ id, result }) => id === 'nvidia/topology' && result === 'skipped',
      )
      if (isSingle) return notApplicable('no GPU is in protected PCIe mode')(seen)
      return byChecks(/^nvidia\/topology\//, binding)(seen)
    }),
  },
  {
    name: 'measured_model_weights',
    asks: 'are the weights named by digest, and bound?',
    judge: byChecks(/^statement\/models$/, binding),
  },
  {
    name: 'build_transparency_log',
    asks: 'are the expected values in a public log?',
    judge: byChecks(/^log\/proof$/),
  },
  {
    name: 'cpu_id_registry',
    asks: 'is the machine known to a registry?',
    judge: machine.registry,
  },
  {
    name: 'compose_binding',
    asks: 'is the composition of containers in the report?',
    judge: machine.composition,
  },
  {
    name: 'sigstore_verification',
    asks: 'are container images in Sigstore?',
    judge: notMet('images are not looked up in Sigstore; the manifest lists measurements instead'),
  },
  {
    name: 'sigstore_code_verified',
    asks: 'does a Sigstore bundle of the build name the measurements?',
    judge: notMet('the log that has the measurements is the one of the operator, not Sigstore'),
  },
  {
    name: 'event_log_integrity',
    asks: 'does the event log lead to the registers?',
    judge: eventLog,
  },
]

/** The same for a hosted proxy that reads prompts; a blind gateway has none of this. */
export const gatewayFactors: readonly Factor[] = [
  { name: 'gateway_nonce_match', asks: 'is the answer for our nonce?', judge: machine.nonce },
  { name: 'gateway_tee_quote_present', asks: 'is there a report?', judge: machine.present },
  { name: 'gateway_tee_quote_structure', asks: 'is it well formed?', judge: machine.structure },
  { name: 'gateway_tee_cert_chain', asks: 'does its chain hold?', judge: machine.chain },
  { name: 'gateway_tee_quote_signature', asks: 'is it signed?', judge: machine.signature },
  { name: 'gateway_tee_debug_disabled', asks: 'is debugging off?', judge: machine.debug },
  { name: 'gateway_tee_measurement', asks: 'is it listed?', judge: machine.measurement },
  {
    name: 'gateway_tee_hardware_config',
    asks: 'is the virtual hardware listed?',
    judge: machine.hardwareConfig,
  },
  { name: 'gateway_tee_boot_config', asks: 'is what it boots listed?', judge: machine.bootConfig },
  {
    name: 'gateway_tee_reportdata_binding',
    asks: 'does the report bind its key?',
    judge: machine.reportData,
  },
  {
    name: 'gateway_compose_binding',
    asks: 'is the composition in the report?',
    judge: machine.composition,
  },
  { name: 'gateway_cpu_id_registry', asks: 'is the machine known?', judge: machine.registry },
  { name: 'gateway_event_log_integrity', asks: 'does the event log hold?', judge: eventLog },
]

export const blindGateway =
  'the gateway is not trusted: it relays sealed bytes and has no key; --gateway judges a hosted proxy'
