/**
 * llama.cpp in this process; import it only where it is used, as it loads native code.
 *
 * A request's way: `calls/` reads it, `prompt/` and `grammar/` prepare it, `scheduling/` computes tokens on a model of
 * `model/` with prefixes from `cache/`, `output/` takes them apart, and `calls/` answers.
 */
export { createEmbeddedEngine } from './embedded-engine.ts'
