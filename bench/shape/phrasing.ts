/** How questions and answers are put, whatever they are about: the same for every topic. */

export const questions: readonly string[] = [
  'What should I know about {a}?',
  'Can you explain {a} and {b} to me in simple words?',
  'I have a problem with {a}. What should I do first?',
  'My friend asked me about {a}. How does it relate to {b}?',
  'Give me a list of the most important things about {a}.',
  'How long does it usually take with {a}, and what does it cost?',
  'Is it normal that {a} comes together with {b}? I am worried about {c}.',
  'Write a short message to someone about {a} and {b}.',
  'What are common mistakes with {a}?',
  'Should I think about {a} before {b}, or the other way round?',
  'Tell me what you would do about {a} if you were in my place, with {b} and {c} to care for.',
  'What is the difference between {a} and {b}?',
]

export const followUps: readonly string[] = [
  'And what about {a}?',
  'Can you say more about {a}?',
  'Thanks. How does {a} change that?',
  'I do not understand the part about {a}. Can you explain it again with an example?',
  'What if {a} does not work?',
  'Please make it shorter.',
]

export const openings: readonly string[] = [
  'That is a good question.',
  'It depends on your situation, but here is an overview.',
  'I am sorry that you have to deal with this.',
  'Here are the most important points about {a}.',
  'Let us look at {a} step by step.',
  '{a} can be difficult at first.',
]

export const sentences: readonly string[] = [
  'In most cases, {a} is closely connected with {b}.',
  'You should talk about {a} before you decide anything about {b}.',
  'The {a} may take a few days or even several weeks.',
  'Many people forget {a}, although it matters more than {b}.',
  'It helps to write down everything about {a}, including {b} and {c}.',
  'If {a} is not possible, consider {b} instead.',
  'Ask about {a} early, because {b} often depends on it.',
  'There is no simple rule for {a}, but {g} is a good start.',
  'Be careful with {a}: it can change {b} in ways that you do not expect.',
  'For example, {a} could be combined with {b} to improve {g}.',
  'Remember that {a} and {b} are not the same thing.',
  'Experts recommend {a} at least once a year.',
  'When {a} gets worse, look at {b} first and then at {c}.',
  'You can find more about {a} in a good guide or from someone with experience.',
  'The cost of {a} varies, so compare it with {b}.',
  'Without {a}, there is usually no {b}.',
  'Keep {g} in mind, especially when {a} is involved.',
  'A common mistake is to ignore {a} until {b} becomes urgent.',
  'After that, {a} should be much easier.',
  'Take your time with {a} and do not hurry.',
]

export const items: readonly string[] = [
  '**{A}**: check {b} and make sure that {c} is ready.',
  '**{A}**: this affects {b} more than you think.',
  '**{A}**: keep it simple and write it down.',
  '**{A}** and {b}: do both at the same time if you can.',
  '**{A}**: ask someone you trust, and plan for {b}.',
  '**{A}**: it takes time, so begin with {g}.',
  '**{A}**.',
]

export const closings: readonly string[] = [
  'I hope this helps.',
  'Let me know if you want more details about {a}.',
  'Would you like an example?',
  'Take care, and good luck with {a}.',
  'If you tell me more about {b}, I can be more precise.',
  '',
]

/** Words that any answer may have. */
export const general: readonly string[] =
  'time,information,a clear plan,advice,experience,the first step,patience,good preparation,support,the details,communication,a checklist,common sense,research,your own needs,honesty'.split(
    ',',
  )
