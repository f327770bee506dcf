export function failedFiles(output: string): Map<string, string[]>
