/** Prices, costs and budgets: set on the page by an operator, shown in figures, warned about. */
import { expect, test } from 'bun:test'
import { callAdmin } from '../page-scripts.ts'
import { type Flow, open } from '../portal-world.ts'
import { ask, untilShown } from './keys.ts'

export function costFlow({ world, admin }: Flow): void {
  test('prices that an admin sets make costs, and a budget warns when they near it', async () => {
    const { page } = admin()
    const name = 'billed reports'
    const { body } = await callAdmin(page, 'POST', '/keys', { body: { name } })
    const { secret } = body as { secret: string }
    await open(page, 'Usage')
    await page.getByRole('button', { name: 'Set prices' }).click()
    const prices = page.getByRole('dialog')
    await prices.getByLabel('Currency').fill('EUR')
    const model = prices.getByRole('group', { name: 'scripted', exact: true })
    await model.getByLabel('Input', { exact: true }).fill('1000')
    await model.getByLabel('Output').fill('2000.5')
    await prices.getByRole('button', { name: 'Save' }).click()
    await prices.waitFor({ state: 'detached' })
    const list = page.getByRole('region', { name: 'Prices' })
    await list.getByText('€2,000.50').waitFor()
    await ask(world(), secret, 'what does this cost?')

    await page.getByRole('button', { name: 'Set a budget' }).click()
    const budget = page.getByRole('dialog')
    await budget.getByLabel('Budget of').selectOption(name)
    await budget.getByLabel(/Amount per month/).fill('0.000001')
    await budget.getByRole('button', { name: 'Save' }).click()
    await budget.waitFor({ state: 'detached' })

    await untilShown(page, async () => {
      await page.reload()
      await page.getByText('A budget is used up').waitFor({ timeout: 5_000 })
    })
    await page.getByText(`The key “${name}” has used`).waitFor()
    expect(await page.locator('[data-tile=Cost]').textContent()).toMatch(/^€0\.0[1-9]|^€[1-9]/)
    await page.getByRole('region', { name: 'Cost by model' }).waitFor()
    await page.getByLabel('Split by').selectOption('Member')
    const totals = page.getByRole('region', { name: 'Totals by member' })
    await totals.getByRole('row', { name: /Ada Admin.*€/ }).waitFor()

    await open(page, 'API keys')
    await page.getByText('A budget is used up').waitFor()
    await open(page, 'Requests')
    await page.getByLabel('API key').selectOption(name)
    await page.getByRole('columnheader', { name: 'Cost' }).waitFor()
    await page.getByRole('row', { name: new RegExp(`${name}.*€`) }).waitFor()
    await open(page, 'Audit log')
    await page.getByText('budget: €0.000001 a month').waitFor()
    // Prices apply to all accounts.
    await page.getByLabel('Show').selectOption('Whole deployment')
    await page.getByText('Changed prices').first().waitFor()
    await page.getByText('€2,000.50 output per million tokens').first().waitFor()
  }, 240_000)
}
