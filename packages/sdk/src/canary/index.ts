/** The cache canary: probes whether a backend keeps the prompt caches of different salts separate. */
export { type AskProbe, httpProbe, type Probe, type ProbeTarget } from './cache-probe.ts'
export {
  type Comparison,
  type Expectation,
  type Judgement,
  judgeCaches,
  type Observation,
  type Observations,
  type ProbeKind,
  significance,
  type Verdict,
} from './judge-caches.ts'
export { type CanaryOptions, type CanaryReport, canaryDefaults, runCanary } from './run-canary.ts'
