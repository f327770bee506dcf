/** Every change of the schema in order; the position is the version. A landed one never changes. */
import type { Migration } from '../database.ts'
import { accountsAndKeys } from './0001-accounts-and-keys.ts'
import { workers } from './0002-workers.ts'
import { usage } from './0003-usage.ts'
import { limits } from './0004-limits.ts'
import { members } from './0005-members.ts'
import { usageTime } from './0006-usage-time.ts'
import { auditLog } from './0007-audit-log.ts'
import { admissions } from './0008-admissions.ts'
import { knownBrowsers } from './0009-known-browsers.ts'
import { reservations } from './0010-reservations.ts'
import { memberLimits } from './0011-member-limits.ts'
import { emailDomains } from './0012-email-domains.ts'
import { movedReservations } from './0013-moved-reservations.ts'
import { costs } from './0014-costs.ts'
import { booking } from './0015-booking.ts'
import { paddedAnswers } from './0016-padded-answers.ts'
import { bookAtOnce } from './0017-book-at-once.ts'
import { clockSetBack } from './0018-clock-set-back.ts'

export const migrations: readonly Migration[] = [
  accountsAndKeys,
  workers,
  usage,
  limits,
  members,
  usageTime,
  auditLog,
  admissions,
  knownBrowsers,
  reservations,
  memberLimits,
  emailDomains,
  movedReservations,
  costs,
  booking,
  paddedAnswers,
  bookAtOnce,
  clockSetBack,
]
