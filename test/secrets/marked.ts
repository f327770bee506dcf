/** Recognisable secrets, one for each place that content comes from. */
export const marked = {
  prompt: 'Ophelia Quartzwing "takes" lithium/carbonate & sings',
  answer: 'a cobalt lantern over the <quiet> harbour, 43% lit',
  toolName: 'lookup_quartz_register',
  toolArgument: 'ledger of Zephyrine Oakhollow, page 9081',
  salt: 'salt-9f1c7e5522d94b0c8a7766-fortytwo-and-more',
  parameter: '0.7321987654',
  stop: 'zz-halt-at-the-heron-zz',
  user: 'user-Balthazar-Inkwell-5521',
  imageBytes: 'these bytes are a picture of a teal giraffe',
  engineError: 'engine broke on the words of Marguerite Thistledown',
  brokenJson: 'half a sentence about Cornelius Ravenscroft',
  path: 'path-of-Evangeline-Marsh',
  header: 'header-of-Leopold-Finch-7781',
  wrongKey: 'pm_wrongkey_QuillfeatherQuillfeatherQuillfeatherQuill12',
} as const
