/** Model servers that run beside the worker: vLLM, SGLang, llama-server, Ollama and others of their kind. */
export { connectHttpEngine, type HttpEngineParts } from './http-engine.ts'
