/** Every fault of a campaign. */
import type { Fault } from './fault.ts'
import { clientFaults } from './kinds/client-faults.ts'
import { clockFaults } from './kinds/clock-faults.ts'
import { connectionFaults } from './kinds/connection-faults.ts'
import { databaseFaults } from './kinds/database-faults.ts'
import { diskFaults } from './kinds/disk-faults.ts'
import { packetFaults } from './kinds/packet-faults.ts'
import { processFaults } from './kinds/process-faults.ts'
import { trustFaults } from './kinds/trust-faults.ts'

export const allFaults: readonly Fault[] = [
  ...processFaults,
  ...databaseFaults,
  ...connectionFaults,
  ...packetFaults,
  ...diskFaults,
  ...clockFaults,
  ...trustFaults,
  ...clientFaults,
]
