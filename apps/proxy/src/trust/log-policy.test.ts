import { expect, test } from 'bun:test'
import { parseLogPolicy } from './log-policy.ts'

const key = (name: string) => `${name}+00000000+${name.padEnd(44, 'A')}`
const witnesses = ['w1', 'w2', 'w3'].map((name) => `witness ${name} ${key(name)}`)
const policy = (...lines: string[]) => [`log ${key('log')}`, ...witnesses, ...lines].join('\n')

test("a single word is the log's key, without required witnesses", () => {
  expect(parseLogPolicy(` ${key('log')}\n`)).toEqual({
    logKey: key('log'),
    witnesses: [],
    quorum: 0,
  })
})

test.each([
  ['two of three', ['group g 2 w1 w2 w3', 'quorum g'], ['w1', 'w2', 'w3'], 2],
  ['all', ['group g all w1 w3', 'quorum g'], ['w1', 'w3'], 2],
  ['any', ['group g any w1 w3', 'quorum g'], ['w1', 'w3'], 1],
  ['one witness', ['quorum w2'], ['w2'], 1],
  ['none', ['quorum none'], [], 0],
  ['a group that is not asked for', ['group g all w1', 'quorum w2'], ['w2'], 1],
])('a policy: %s', (_name, lines, members, quorum) => {
  expect(parseLogPolicy(policy(...lines))).toEqual({
    logKey: key('log'),
    witnesses: members.map(key),
    quorum,
  })
})

test('comments, empty lines, tabs and addresses change nothing', () => {
  const text = `# ours\n\n\tlog\t${key('log')} https://log.test/\n  # w\nwitness w1 ${key('w1')} https://w.test\nquorum w1\n`
  expect(parseLogPolicy(text)).toMatchObject({ witnesses: [key('w1')], quorum: 1 })
})

test.each([
  ['no quorum', policy(), 'no quorum line'],
  ['two quorums', policy('quorum w1', 'quorum w2'), 'second quorum'],
  ['no log', `${witnesses[0]}\nquorum w1`, 'no log line'],
  ['two logs', policy(`log ${key('other')}`, 'quorum none'), 'second log'],
  ['a line of another kind', policy('watcher x'), 'line 5 begins with "watcher"'],
  ['a malformed key', policy('witness w4 abc', 'quorum w4'), 'line 5 has no key'],
  ['a key twice', policy(`witness w4 other+00000000+${'w1'.padEnd(44, 'A')}`), 'has a key that'],
  ['a name twice', policy(`witness w1 ${key('w4')}`), '"w1", which is taken'],
  ['a witness twice in a group', policy('group g 2 w1 w1', 'quorum g'), '"w1" a second time'],
  ['a group of groups', policy('group g all w1', 'group h any g w2'), 'member "g", expected a'],
  ['more than there are', policy('group g 4 w1 w2 w3', 'quorum g'), 'asks for "4" of 3'],
  ['none of them', policy('group g 0 w1', 'quorum g'), 'asks for "0" of 1'],
  ['part of one', policy('group g 1.5 w1 w2', 'quorum g'), 'asks for "1.5" of 2'],
  ['an undefined quorum', policy('quorum w9'), 'asks for "w9"'],
])('a policy with %s is refused', (_name, text, reason) => {
  expect(() => parseLogPolicy(text)).toThrow(reason)
  expect(() => parseLogPolicy(text)).toThrow('--manifestLogKey')
})
