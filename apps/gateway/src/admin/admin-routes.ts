/** The table of all admin routes, from which the router and the OpenAPI document are built. */
import type { Schema } from '@privatemode/protocol/fleet'
import { type AdminRoute, openRoute } from './admin-route.ts'
import { formatOpenApi } from './openapi.ts'
import { accountRoutes } from './routes/account-routes.ts'
import { auditRoutes } from './routes/audit-routes.ts'
import { billingRoutes } from './routes/billing-routes.ts'
import { invitationRoutes } from './routes/invitation-routes.ts'
import { keyRoutes } from './routes/key-routes.ts'
import { memberRoutes } from './routes/member-routes.ts'
import { sessionRoutes } from './routes/session-routes.ts'
import { usageRoutes } from './routes/usage-routes.ts'

export const adminRoutes: readonly AdminRoute[] = [
  openRoute('GET /openapi.json', {
    summary: 'This document',
    handle: async () => Response.json(adminOpenApi()),
  }),
  ...sessionRoutes,
  ...keyRoutes,
  ...memberRoutes,
  ...invitationRoutes,
  ...accountRoutes,
  ...usageRoutes,
  ...billingRoutes,
  ...auditRoutes,
]

export function adminOpenApi(): Schema {
  return formatOpenApi(adminRoutes)
}
