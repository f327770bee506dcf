/** Tokens byte by byte, compared with the library's own detokenizer. */
import { afterAll, expect, test } from 'bun:test'
import { loadStories } from '../../../../../test/story-model.ts'
import { TextStream, TokenText } from './token-text.ts'

const model = await loadStories()
const text = new TokenText(model)
afterAll(() => model.llama.dispose())

const byte = (value: number): number => 3 + value

test('every token of the vocabulary has the bytes that the library shows', () => {
  for (let token = 259; token < text.size; token += 7) {
    const shown = model.detokenize([byte(0x21), token] as never)
    expect(`!${new TextDecoder().decode(text.bytesOf(token))}`).toBe(shown)
  }
})

test('byte tokens are single bytes, control tokens are marked', () => {
  expect([...text.bytesOf(byte(0xf0))]).toEqual([0xf0])
  expect(text.isControl(1)).toBe(true)
  expect(text.isControl(300)).toBe(false)
  expect(text.controlNames()).toEqual(['<unk>', '</s>', '<s>'])
})

test('a character of four tokens appears once, whole', () => {
  const stream = new TextStream(text)
  const shown = [0xf0, 0x9f, 0x90, 0x88, 0x21].map((value) => stream.push(byte(value)))
  expect(shown).toEqual(['', '', '', '\u{1F408}', '!'])
  expect(stream.end()).toBe('')
})

test('only a character that stays incomplete is shown as U+FFFD, at the end', () => {
  const stream = new TextStream(text)
  expect(stream.push(byte(0xe4))).toBe('')
  expect(stream.end()).toBe('\uFFFD')
})
