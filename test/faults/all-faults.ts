/** Every fault of a campaign. */
import type { Fault } from './fault.ts'
import { databaseFaults } from './kinds/database-faults.ts'
import { processFaults } from './kinds/process-faults.ts'

export const allFaults: readonly Fault[] = [...processFaults, ...databaseFaults]
