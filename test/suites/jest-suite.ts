/** Runs test files of an official client with the client's own test runner. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SuiteResult } from './suite-result.ts'

/** Every name that the files give to a model: the stand-in server has to have it. */
export function modelNames(folder: string, files: readonly string[]): string[] {
  const names = files.flatMap((file) => {
    const source = readFileSync(join(folder, file), 'utf8')
    const named = [...source.matchAll(/\bmodel: '([^']+)'/g)]
    const retrieved = [...source.matchAll(/models\.retrieve\('([^']+)'/g)]
    return [...named, ...retrieved].map(([, name = '']) => name)
  })
  return [...new Set(names)]
}

type Report = {
  readonly testResults: {
    readonly assertionResults: {
      readonly fullName: string
      readonly status: 'passed' | 'failed' | 'pending'
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

export async function runJest(
  folder: string,
  files: readonly string[],
  baseUrl: string,
): Promise<SuiteResult> {
  const out = mkdtempSync(join(tmpdir(), 'privatemode-suite-'))
  const report = join(out, 'report.json')
  try {
    const flags = ['--runInBand', '--json', '--outputFile', report]
    const child = Bun.spawn(['node', 'node_modules/.bin/jest', ...flags, ...files], {
      cwd: folder,
      env: { ...process.env, TEST_API_BASE_URL: baseUrl },
      stdio: ['ignore', 'ignore', 'ignore'],
      timeout: 300_000,
    })
    await child.exited
    return readReport(JSON.parse(readFileSync(report, 'utf8')) as Report)
  } finally {
    rmSync(out, { recursive: true, force: true })
  }
}

function readReport({ testResults }: Report): SuiteResult {
  const all = testResults.flatMap(({ assertionResults }) => assertionResults)
  const failed = all.filter(({ status }) => status === 'failed')
  return {
    passed: all.filter(({ status }) => status === 'passed').length,
    skipped: all.filter(({ status }) => status === 'pending').length,
    failures: failed.map(({ fullName, failureMessages }) => ({
      test: fullName,
      reason: (failureMessages[0] ?? '').split('\n').slice(0, 2).join(' ').slice(0, 300),
    })),
  }
}
