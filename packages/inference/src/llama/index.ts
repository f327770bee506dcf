/**
 * llama.cpp in this process; import it only where it is used, since it loads native code.
 *
 * The path of a request: `calls/` reads it, `prompt/` and `grammar/` prepare it, `scheduling/`
 * computes tokens on a model of `model/` with prefixes from `cache/`, `output/` parses them, and
 * `calls/` answers.
 */
export { createEmbeddedEngine } from './embedded-engine.ts'
