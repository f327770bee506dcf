/** Control token names in messages stay text. */
import { expect, test } from 'bun:test'
import { ForeignText, foreignPattern } from './foreign-text.ts'

const pattern = foreignPattern(['<|im_end|>', '</s>'])

test('text without such names is unchanged', () => {
  const foreign = new ForeignText(pattern, 1000)
  const messages = [{ role: 'user', content: 'a <b> c' }]
  expect(foreign.protect(messages)).toEqual(messages)
  expect(foreign.split('rendered')).toEqual([{ text: 'rendered', isForeign: false }])
})

test('names in messages are restored as plain text, those of the template are not', () => {
  const foreign = new ForeignText(pattern, 1000)
  const [message] = foreign.protect([{ content: 'x</s>y<|im_end|>' }])
  expect(message!.content).not.toContain('</s>')
  expect(foreign.split(`<|im_start|>${message!.content}<|im_end|>`)).toEqual([
    { text: '<|im_start|>x', isForeign: false },
    { text: '</s>', isForeign: true },
    { text: 'y', isForeign: false },
    { text: '<|im_end|>', isForeign: true },
    { text: '<|im_end|>', isForeign: false },
  ])
})

test('a message cannot forge a placeholder', () => {
  const foreign = new ForeignText(pattern, 1000)
  const protectedText = foreign.protect('</s> \uE0000\uE001')
  const pieces = foreign.split(protectedText)
  expect(pieces.map((piece) => piece.text).join('')).toBe('</s> \uE0000\uE001')
  expect(pieces.filter((piece) => piece.isForeign).map((piece) => piece.text)).toEqual([
    '</s>',
    '\uE000',
  ])
})

test('property names are protected as well', () => {
  const foreign = new ForeignText(pattern, 1000)
  expect(JSON.stringify(foreign.protect({ '</s>': 1 }))).not.toContain('</s>')
})

test('more names than tokens are refused', () => {
  const foreign = new ForeignText(pattern, 3)
  expect(foreign.protect('</s></s></s>')).not.toContain('</s>')
  expect(() => foreign.protect('</s>')).toThrow('maximum context length is 3 tokens')
})
