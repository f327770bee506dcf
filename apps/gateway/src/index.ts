/** The gateway as a library: for the stack and for tests. */
export { adminOpenApi } from './admin/admin-routes.ts'
export { program } from './flags.ts'
export { type Gateway, type Surroundings, startGateway } from './gateway.ts'
export { GatewayError, type GatewayErrorCode } from './gateway-error.ts'
export { type Limits, parseSettings, type Settings } from './settings.ts'
