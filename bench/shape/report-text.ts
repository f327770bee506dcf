/** The prose of docs/traffic-shape.md around its tables. */

export const introduction = `# What the shape of traffic reveals

Encryption hides the content. Timing and sizes stay visible to the network and to the gateway, and with plain streaming they are enough
to recognise topics. This page measures how much they reveal for each \`--trafficShape\`, and what hiding it costs.

| Shape | Goal |
|---|---|
| \`default\` | topics no more than 0.1 above the base rate, token lengths at chance, R² of the number of tokens at most 0.5 |
| \`strict\` | topics and token lengths at chance, R² of the number of tokens at most 0.1 |

The attack works: without shaping it learns most token lengths (where two tokens share a frame, only their sum) and most topics.

## Method

\`npm run task -- study:shape\` generates this page with \`bench/shape\`; the results are in \`bench/shape/results.json\`. The command plays
conversations on 24 topics through proxy, gateway and worker, each in its own process. A relay between proxy and gateway records the time
and length of every frame.

- The topics belong to six families that share words, all share their phrases, and their answers differ in length as real topics do (the
  medians range from 4 to 22 sentences).
- A scripted model server sends the answers token by token: the vocabulary is Llama's, each conversation has its own pace around 20 ms,
  each token its own time. Half of the conversations have a second turn, without a pause for thought.
- The embedded model is also asked N questions on each topic (\`--embedded N\`). Its answers, of up to 90 tokens, are played with its own
  times between tokens, sped up to the same pace.

Times are meaningful only from a machine with idle capacity: \`npm run task -- study:shape --record FOLDER\` only records, which takes a
quarter of an hour; \`--train FOLDER\` trains, evaluates and writes this page, and can run anywhere and later.

Two classifiers guess: gradient-boosted trees over counts of sizes, pairs and triples of sizes, and times; and a convolutional network
over the sequence of frames. They are evaluated on questions that they were not trained on (five folds). The measure is the area under the
precision-recall curve for "is this about topic X", the mean of all topics, with 95 % intervals from resampled questions.

Blind guesses reach a little more than the base rate, and more in resamples; "above blind guesses" compares with them on the same
resamples and shows "at chance" if its interval includes zero. For token lengths, the attacker knows how many tokens there are and guesses
each from the frames around its position; chance is what can be guessed without frames.

\`npm run task -- study:shape --wire FOLDER\` is a second study: packets instead of frames, on both legs, with the official OpenAI and
Anthropic clients for JavaScript and Python; streams and whole answers of 12 to 2,563 tokens, tools, errors, embeddings and conversations.
\`npm test\` includes a short form of the worst attack: official clients, which close their connection at the last event, against resets
and sizes on the wire (\`test/shape\`).
`

export const wireText = `## Both legs, with the official clients

\`npm run task -- study:shape --wire FOLDER\` records packets: the official OpenAI and Anthropic clients for JavaScript and Python take
turns, answers have 12 to 2,563 tokens at 50 tokens a second, and a TCP relay records the time and size of every piece and when connections
close, between proxy and gateway and between a plain HTTPS client and the proxyless endpoint.

Three kinds of classifier guess the topic (area under the precision-recall curve, mean of all topics), extremely randomized trees the
number of tokens (R² of its logarithm; below zero is worse than always guessing the mean), all in five folds with 95 % intervals from
resamples. Next to them is what the class of the answer's length alone tells an ideal attacker, who knows how often each topic has each
length. "Cut" counts answers whose connection was closed before their end.

All calls are made in random order. An earlier recording went topic by topic on a machine whose load grew: it showed a leak in the times of
strict answers that was really the load.
`

export const wireOthers = `24 topics, engines of other speeds, and other kinds of calls. "R²" refers to the number of tokens; for embeddings to the number of
inputs, for conversations to the number of tokens of the previous answer, guessed from the next request. "Topics" of errors are errors and
answers of 12 to 26 tokens; of embeddings, the number of inputs as a power of two. Tool calls come from the model server in one piece.
`

export const curveText = `## How lengths were chosen

Within one length class nothing was found; what remains is which class an answer belongs to. The table is computed, not recorded: it shows
what the length alone tells an ideal attacker. Answers have 12 to 2,563 tokens at 50 tokens a second, on 7 topics whose medians span a
factor of 25. "Explained" is the share of the variance of the logarithm of the number of tokens (R²). Bytes are those of the default clock,
25 KiB a second. \`bench/shape/length-curve.ts\` computes it.
`

export const curveChoice = `\`default\` uses 16 s and growth by two, on both legs: the first choice that reaches both goals with a margin. \`strict\` uses 64 s and
growth by four: one length for all answers here. Random lengths achieve less than a longer minimum for the same bytes.

What \`default\` costs its users:

| Client | Cost |
|---|---|
| proxy, SDK | only bytes: the answer is passed on as it arrives and the padding is read in the background, also for non-streamed answers. A program that uses the SDK and would exit at once stays alive for the rest of the padding |
| plain HTTPS client of the proxyless endpoint, streaming | the text arrives without delay, but the end of a stream (finish reason, usage, \`[DONE]\`) only with the end of the padding: 16 s after the request at the earliest |
| the same, not streaming | no delay, so the time of the answer shows there (R² near 1): hiding it would make every call take 16 s, which is what \`strict\` does |

No shorter wait reaches the goals, as the table shows: an observer who sees when short answers end knows how long they are. If agents wait
for the end at every step, use the proxy, or \`--trafficShape off\` for the endpoint.

Streams keep their slot in a worker while they are padded, so a worker offers four times as many slots as its engine has; the engine
itself refuses more than it can handle. A limit on concurrent requests, of a key or an account, counts padded streams.
`

export const speedText = `The lengths are times, so slow engines reveal more about long answers. The table shows other engines; those faster than 100 tokens a
second (160 if strict) get a faster clock, and the first length then holds as many bytes.
`

export const remains = `## What stays visible

- That a request was made, when, with which key, to which model and endpoint, and how many follow one another.
- The class of a request's length: 4, 16, 64, 256 KiB and multiples of 256 KiB by default; 64 KiB, 256 KiB and multiples of 1 MiB if
  strict. It includes the conversation so far, but it takes many turns from one class to the next.
- By default, the time to the first frame up to 250 ms; from then on padding is sent, so that a longer prompt, or a tool call that arrives
  in one piece, does not show. If strict, frames begin with the request. On the leg to a proxyless client the first byte comes with the
  first frame of the answer; if strict, 4 s × 2ⁿ after the request.
- The class of an answer's length: 320 × 2ⁿ units of 1.25 KiB by default, 1280 × 4ⁿ of 2 KiB if strict.
- The pace class: an engine with more than about 100 tokens a second (160 if strict) gets twice the bytes, from the moment when that
  becomes apparent. Near that speed, or on an overloaded machine, long answers double the pace and short ones do not: lengths show.
- By default, what an application does once it has its answer: an agent that sends its next request at once shows when the answer was
  complete. \`strict\` holds back everything from the finish reason on, so every streamed call takes 64 s or more; the text itself is not
  held back.
- By default, whether a non-streamed answer took less than 250 ms; slower ones look like streams between client and worker. To a proxyless
  client, the time that it took; its length is one of 8, 32, 128, 512 KiB and so on. If strict, it is released 60 or 240 s after the
  request (later ones when they are ready), embeddings 1 s × 4ⁿ after it.
- The number of embedding inputs, as far as the classes of request and answer reveal it: within a factor of four by default.
- That a client aborted in mid-answer, or that an answer failed. A client that disconnects with the complete answer does not show: the
  proxy and the SDK keep reading the padding, up to 4,096 answers, 64 MiB and 15 minutes each in one process of the proxy.
- To the gateway, exact token counts: it writes the bill. They reveal more than the shaped frames do.
- From a plain HTTPS client to the proxyless endpoint: the lengths of requests, and so the growth of a conversation.
`
