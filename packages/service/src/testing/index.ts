/** Real little programs that tests of outbound connections need. */
export { createTestAuthority } from './certificates.ts'
export { type ConnectProxy, startConnectProxy } from './connect-proxy.ts'
export { freePort, freePorts } from './free-ports.ts'
export { type InspectionAppliance, startInspectionAppliance } from './inspection-appliance.ts'
export { type CollectedSpan, startTraceCollector, type TraceCollector } from './trace-collector.ts'
