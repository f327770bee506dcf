/** llama.cpp in this process; import it only where it is used, as it loads native code. */
export { createEmbeddedEngine } from './embedded-engine.ts'
