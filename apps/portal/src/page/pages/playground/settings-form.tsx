/** Model settings: instructions, length, randomness, tools, structured output. */
import { useId } from 'preact/hooks'
import { type ChatSettings, formatExample, toolExample } from '../../../chat/build-request.ts'
import { Button } from '../../view/button.tsx'
import { Field } from '../../view/field.tsx'

type SettingsFormProps = {
  readonly settings: ChatSettings
  readonly onSettings: (settings: ChatSettings) => void
}

export function SettingsForm({ settings, onSettings }: SettingsFormProps) {
  const set = (name: keyof ChatSettings) => (value: string) =>
    onSettings({ ...settings, [name]: value })
  const number = (name: keyof ChatSettings, label: string, placeholder: string) => (
    <Field
      label={label}
      placeholder={placeholder}
      sayOptional={false}
      value={settings[name]}
      onValue={set(name)}
    />
  )
  return (
    <details class="chat-options">
      <summary>Model settings</summary>
      <div class="stack">
        <Text
          label="System prompt"
          rows={3}
          placeholder="Answer in one sentence."
          value={settings.system}
          onValue={set('system')}
        />
        <div class="settings-grid">
          {number('maxTokens', 'Maximum answer length', '512 tokens')}
          {number('temperature', 'Temperature', '0 to 2')}
          {number('topP', 'Top-p', '0 to 1')}
          {number('seed', 'Seed', 'any whole number')}
        </div>
        <Text
          label="Stop sequences, one per line"
          rows={1}
          value={settings.stop}
          onValue={set('stop')}
        />
        <div class="pair">
          <div class="stack tight">
            <Text label="Tools, as JSON" rows={2} value={settings.tools} onValue={set('tools')} />
            <Button onClick={() => set('tools')(toolExample)}>Insert a tool as an example</Button>
          </div>
          <div class="stack tight">
            <Text
              label="Structured output, as JSON"
              rows={2}
              value={settings.format}
              onValue={set('format')}
            />
            <Button onClick={() => set('format')(formatExample)}>
              Insert a schema as an example
            </Button>
          </div>
        </div>
      </div>
    </details>
  )
}

type TextProps = {
  readonly label: string
  readonly rows: number
  readonly placeholder?: string
  readonly value: string
  readonly onValue: (value: string) => void
}

function Text({ label, onValue, ...rest }: TextProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        {...rest}
        id={id}
        spellcheck={false}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
    </div>
  )
}
