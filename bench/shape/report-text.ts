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

An independent attack on the shapes of before is the measure of what changed (315 streams of 12 to 2,563 tokens for each shape, base rate
0.143):

| Leg, shape | Client | Topics | R² of tokens |
|---|---|---|---|
| proxy to gateway, default | reads to the end | 0.312 | 0.825 |
| proxy to gateway, strict | reads to the end | 0.200 | 0.005 |
| proxy to gateway, strict | closes at \`[DONE]\`, as the OpenAI clients do | 0.465 | 0.973 |
| proxy to gateway, default and strict, not streamed | | 0.470, 0.457 | 0.988, 0.984 |
| client to proxyless | reads to the end | 0.560 | 0.996 |

\`--minutes N\` stops in time, and the next run goes on where it stopped. All calls are made in random order. An earlier recording went topic by topic on a machine whose load grew: it showed a leak in the times of
strict answers that was really the load.
`

export const wireFigures = `Blind guesses on so few answers reach more than the base rate, see the second column of figures below; the goals count from the base
rate. "At chance" means that the best of three blind guesses reaches as much in at least one of 40 tries.

All figures. "Application waits" is the median time until the client returns its answer, or the end of its stream.
`

export const processorText = `Processor time for a stream of 400 tokens, from proxy to worker, when 24 are read at once on the same busy machine:
`

export const wireOthers = `24 topics, engines of other speeds, and other kinds of calls. "R²" refers to the number of tokens; for embeddings to the number of
inputs, for conversations to the number of tokens of the previous answer, guessed from the next request. "Topics" of errors are errors and
answers of 12 to 26 tokens; of embeddings, the number of inputs as a power of two; of cache hits, whether the prompt took 60 or 1,200 ms.
Tool calls come from the model server in one piece.
`

export const curveText = `## How lengths were chosen

Within one length class nothing was found; what remains is which class an answer belongs to. The table is computed, not recorded: it shows
what the length alone tells an ideal attacker. Answers have 12 to 2,563 tokens at 50 tokens a second, on 7 topics whose medians span a
factor of 25. "Explained" is the share of the variance of the logarithm of the number of tokens (R²). Bytes are those of the default clock,
25 KiB a second. \`bench/shape/length-curve.ts\` computes it.
`

export const curveChoice = `\`default\` uses 16 s and growth by two, on both legs: the first choice that reaches both goals with a margin. \`strict\` uses 64 s and
growth by four: one length for all answers here. Random lengths achieve less than a longer minimum for the same bytes. The short rows show
why no shorter wait will do: an observer who sees when short answers end knows how long they are.

What \`default\` costs its users, at 50 tokens a second:

| Client | Cost |
|---|---|
| proxy, SDK | only bytes: the answer is passed on as it arrives and the padding is read in the background, also for non-streamed answers. A program that uses the SDK and would exit at once stays alive for the rest of the padding |
| plain HTTPS client of the proxyless endpoint, streaming | text, finish reason and usage arrive without delay, but the last event (\`[DONE]\`, \`message_stop\`, \`response.completed\`) only with the end of the padding: 16 s after the request at the earliest |
| the same, not streaming | the answer arrives with the end of the padding, 16 s after the request at the earliest |

The last event must wait because half of the clients close their connection there, and the rest wait for the end of the response anyway
(\`bench/shape/client-ends.ts\`, with an answer that is complete at once and 3 s of padding):

| Client | Padding after the last event | Padding before the last event |
|---|---|---|
| openai 7.53 for JavaScript | returns and closes at once: an observer sees when the answer was complete | returns after 3.1 s |
| openai 3.49 for Python | returns and closes at once | returns after 3.1 s |
| @anthropic-ai/sdk 1.8 | returns after 3.3 s, at the end of the response | returns after 3.1 s |
| anthropic 2.8 for Python | returns after 3.2 s, at the end of the response | returns after 3.1 s |

An application that acts on the finish reason need not wait, but must not close the connection there: that would show. If agents wait for
the end at every step, use the proxy, or \`--trafficShape off\` for the endpoint.

Streams keep their slot in a worker while they are padded, so a worker offers four times as many slots as its engine has; the engine
itself refuses more than it can handle. A limit on concurrent requests, of a key or an account, counts padded streams. Short answers take
slots for much longer than they take the engine: with 1,024 slots (\`--maxRequests\`) and 16 s for each, a worker begins 64 padded answers
a second at most, whatever its engine could do.
`

export const speedText = `The lengths are meant in tokens: the time that 750 tokens take on the engine at hand, 3,000 if strict. A worker knows it from the median
of the last answers of the model (16 and 64 s until it has seen five of at least 100 tokens); it is rounded up to one of four lengths for
each power of two, and is at least half and at most eight times as long. So what the length of an answer reveals does not depend on the
engine's speed; what it costs does. Longer strict answers than that take four times as long, and show.
`

export const remains = `## What stays visible

- That a request was made, when, with which key, to which model and endpoint, and how many follow one another.
- The class of a request's length: 4, 16, 64, 256 KiB and multiples of 256 KiB by default; 64 KiB, 256 KiB and multiples of 1 MiB if
  strict. It includes the conversation so far, but it takes many turns from one class to the next.
- By default, the time to the first frame up to 250 ms; from then on padding is sent, so that a longer prompt, or a tool call that arrives
  in one piece, does not show. If strict, frames begin with the request. On the leg to a proxyless client a stream begins with its first
  piece, at the latest 500 ms after the request; if strict, always 4 s after it.
- By default, that an answer is an error: it comes sooner than the first piece of most answers.
- The class of an answer's length: the time of 750 × 2ⁿ tokens by default, 3,000 × 4ⁿ if strict, which tells the engine's pace as well.
- The pace class: an engine with more than about 100 tokens a second (160 if strict) gets twice the bytes. Until a worker knows that speed,
  and on an overloaded machine, long answers double the pace and short ones do not: lengths show.
- By default, what an application does once it has its answer: an agent that sends its next request at once shows when the answer was
  complete, and so does a plain HTTPS client that closes at the finish reason. \`strict\` holds back everything from the finish reason on,
  so every call takes as long as 3,000 tokens; the text of a stream is not held back.
- By default, whether a non-streamed answer took less than 250 ms; slower ones, and all errors, look like streams between client and
  worker. To a proxyless client they are released with the end of the padding, in one of 32, 128, 512 KiB and so on (256 KiB and 1 MiB if
  strict). Load balancers before the endpoint must not take that silence for a dead connection.
- If strict, embeddings are released 1 s × 4ⁿ after the request; by default when they are ready.
- The number of embedding inputs, as far as the classes of request and answer reveal it: within a factor of four by default.
- That a client aborted in mid-answer, or that an answer failed. A client that disconnects with the complete answer does not show: the
  proxy and the SDK keep reading the padding, up to 4,096 answers, 64 MiB and 15 minutes each in one process of the proxy.
- To the gateway, exact token counts: it writes the bill. They reveal more than the shaped frames do.
- From a plain HTTPS client to the proxyless endpoint: the lengths of requests, and so the growth of a conversation.
`
