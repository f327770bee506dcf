/** The prices in force, and the form with which operators set them. */
import type { ModelPrice, Prices } from '@privatemode/protocol/fleet'
import { useState } from 'preact/hooks'
import { formatMoney, moneyText, parseMoney } from '../../../usage/money.ts'
import { callApi } from '../../api/call-api.ts'
import { useSubmit } from '../../submit.ts'
import { Button } from '../../view/button.tsx'
import { Field } from '../../view/field.tsx'
import { FoldTable } from '../../view/fold-table.tsx'
import { FormDialog } from '../../view/form-dialog.tsx'

type PriceCardProps = {
  readonly prices: Prices
  /** Names of models that are served now. */
  readonly models: readonly string[]
  readonly mayChange: boolean
  readonly onChanged: () => Promise<void>
}

export function PriceCard({ prices, models, mayChange, onChanged }: PriceCardProps) {
  const [open, setOpen] = useState(false)
  const { currency } = prices
  return (
    <section class="card" aria-labelledby="prices">
      <div class="card-head">
        <h2 id="prices">Prices</h2>
        {mayChange && <Button onClick={() => setOpen(true)}>Set prices</Button>}
      </div>
      {(currency === null || prices.models.length === 0) && (
        <p class="soft">No prices are set, so no costs are shown.</p>
      )}
      {currency !== null && prices.models.length > 0 && (
        <>
          <p class="soft">
            For a million tokens. A request costs what was in force when it started; earlier
            requests keep their cost.
          </p>
          <FoldTable columns={['Model', 'Input', 'Cached input', 'Output']} withActions={false}>
            {prices.models.map((price) => (
              <tr key={price.model}>
                <th scope="row">{price.model}</th>
                <td data-label="Input">{formatMoney(price.input_micros, currency)}</td>
                <td data-label="Cached input">{formatMoney(price.cached_micros, currency)}</td>
                <td data-label="Output">{formatMoney(price.output_micros, currency)}</td>
              </tr>
            ))}
          </FoldTable>
        </>
      )}
      {open && (
        <PriceDialog
          prices={prices}
          models={models}
          onClose={() => setOpen(false)}
          onChanged={onChanged}
        />
      )}
    </section>
  )
}

type PriceTexts = { readonly input: string; readonly cached: string; readonly output: string }
type PriceDialogProps = Omit<PriceCardProps, 'mayChange'> & { readonly onClose: () => void }

function PriceDialog({ prices, models, onClose, onChanged }: PriceDialogProps) {
  const names = [...new Set([...models, ...prices.models.map(({ model }) => model)])].sort()
  const [currency, setCurrency] = useState(prices.currency ?? 'EUR')
  const [texts, setTexts] = useState<ReadonlyMap<string, PriceTexts>>(
    () => new Map(names.map((name) => [name, textsOf(name, prices)])),
  )
  const submission = useSubmit(async () => {
    await callApi('PUT', '/prices', { currency, models: priceList(texts) })
    await onChanged()
    onClose()
  })
  return (
    <FormDialog
      {...submission}
      title="Prices"
      action="Save"
      failed="The prices were not saved"
      onClose={onClose}
    >
      <p>
        For a million tokens, for requests that start from now on. A model without an input price
        costs nothing; without a price for cached input, cached tokens cost as much as others.
      </p>
      <Field
        label="Currency"
        required
        pattern="[A-Z]{3}"
        maxLength={3}
        value={currency}
        onValue={(value) => setCurrency(value.toUpperCase())}
        hint="Three letters such as EUR or USD. It cannot change once there are costs."
      />
      {[...texts].map(([name, own]) => (
        <fieldset key={name}>
          <legend>{name}</legend>
          <div class="triple">
            {priceNames.map(([field, label]) => (
              <Field
                key={field}
                label={label}
                pattern="\d{1,6}(\.\d{1,6})?"
                inputMode="decimal"
                placeholder={field === 'cached' && own.input !== '' ? own.input : '0'}
                sayOptional={false}
                value={own[field]}
                onValue={(value) => setTexts(new Map(texts).set(name, { ...own, [field]: value }))}
              />
            ))}
          </div>
        </fieldset>
      ))}
    </FormDialog>
  )
}

const priceNames = [
  ['input', 'Input'],
  ['cached', 'Cached input'],
  ['output', 'Output'],
] as const

function textsOf(model: string, { models }: Prices): PriceTexts {
  const price = models.find((each) => each.model === model)
  if (price === undefined) return { input: '', cached: '', output: '' }
  return {
    input: moneyText(price.input_micros),
    cached: moneyText(price.cached_micros),
    output: moneyText(price.output_micros),
  }
}

/** Models for which nothing was typed have no price. */
function priceList(texts: ReadonlyMap<string, PriceTexts>): ModelPrice[] {
  return [...texts]
    .filter(([, { input, cached, output }]) => `${input}${cached}${output}`.trim() !== '')
    .map(([model, { input, cached, output }]) => {
      const micros = (text: string, otherwise: number) => parseMoney(text) ?? otherwise
      const inputMicros = micros(input, 0)
      return {
        model,
        input_micros: inputMicros,
        cached_micros: micros(cached, inputMicros),
        output_micros: micros(output, 0),
      }
    })
}
