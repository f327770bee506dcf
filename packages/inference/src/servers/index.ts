/** Model servers that run next to the worker: vLLM, SGLang, llama-server, Ollama and similar ones. */
export { connectHttpEngine, type HttpEngineParts } from './http-engine.ts'
