/** Which worker's report ends a reservation, after another worker took over a request. */
import type { Migration } from '../database.ts'

export const movedReservations: Migration = {
  name: 'moved reservations',
  sql: `
-- Null: the report of whichever worker has the request.
alter table token_reservations add column worker_id text;
`,
}
