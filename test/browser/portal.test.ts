import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { unlessMissing } from '@privatemode/service/testing'
import { launchChromium } from './chromium.ts'
import { appearanceFlow } from './flows/appearance.ts'
import { costFlow } from './flows/costs.ts'
import { firstAccountFlow } from './flows/first-account.ts'
import { keyFlow } from './flows/keys.ts'
import { memberFlow } from './flows/members.ts'
import { playgroundFlow } from './flows/playground.ts'
import { snippetFlow } from './flows/snippets.ts'
import { verificationFlow } from './flows/verification.ts'
import {
  type Flow,
  type PortalWorld,
  startAfresh,
  startPortalWorld,
  type Visitor,
} from './portal-world.ts'

const browser = await launchChromium()
const noBrowser = browser === undefined ? 'no Chromium starts here' : undefined

unlessMissing(noBrowser).describe('the portal in a real browser', () => {
  let world: PortalWorld
  let admin: Visitor

  beforeAll(async () => {
    if (browser === undefined) return
    world = await startPortalWorld(browser)
    admin = await world.visitor()
  }, 330_000)

  afterAll(async () => {
    await world?.stop()
  }, 240_000)

  const flow: Flow = { world: () => world, admin: () => admin }
  // In this order: the first account comes before everything else, usage after calls.
  firstAccountFlow(flow)

  describe('signed in', () => {
    let failedStarts = 0
    // A failed test must not affect others: none starts on a page or in a dialog of the previous one.
    beforeEach(async () => {
      if (failedStarts > 2) throw new Error('the portal could not be opened three times')
      failedStarts++
      await startAfresh(admin.page)
      failedStarts = 0
    }, 240_000)

    keyFlow(flow)
    costFlow(flow)
    verificationFlow(flow)
    playgroundFlow(flow)
    snippetFlow(flow)
    memberFlow(flow)
    appearanceFlow(flow)
  })

  test('no page logged an error, and none contacted another origin', () => {
    expect(world.seen.complaints).toEqual([])
    expect([...world.seen.origins]).toEqual([world.origin])
  })
})
