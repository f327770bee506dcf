/** Shared test support: small real programs, ports, conditions. */
export { createTestAuthority } from './certificates.ts'
export { unlessMissing } from './conditional-tests.ts'
export { type ConnectProxy, startConnectProxy } from './connect-proxy.ts'
export { freePort, freePorts } from './free-ports.ts'
export { type InspectionAppliance, startInspectionAppliance } from './inspection-appliance.ts'
export { type CollectedSpan, startTraceCollector, type TraceCollector } from './trace-collector.ts'
