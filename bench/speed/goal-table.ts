/** The goals of a run as a table, for the page's own run and for those of other machines. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { short } from '../charts.ts'
import { type Goal, judgeGoals } from './goals.ts'
import { type Figure, Figures, figureOf, type Results } from './results.ts'

const head = ['| measure | goal | measured | |', '|---|---|---|---|']

export function formatGoals(results: Results): string[] {
  const goals = judgeGoals(new Figures(results), results)
  return ['## Goals', '', ...head, ...goals.map(formatGoal)]
}

/** Runs with `--as NAME`, whose results lie beside those of the page's own run. */
export function formatOtherRuns(folder: string, own: string): string[] {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.json') && name !== own)
    .toSorted()
  return names.flatMap((name) =>
    formatOtherRun(name, JSON.parse(readFileSync(join(folder, name), 'utf8')) as Results),
  )
}

function formatOtherRun(file: string, results: Results): string[] {
  const { machine, skipped, rounds, minutes, at, note } = results
  const goals = judgeGoals(new Figures(results), results).filter(({ figure }) => figure)
  const ns = figureOf(machine.randomReadNs ?? [])
  const memory = ns === undefined ? '' : ` A random memory read took ${ns.middle.toFixed(0)} ns.`
  return [
    `## The goals on another machine: ${file.replace(/\.json$/, '')}`,
    '',
    `Run of ${at} on ${machine.cores} cores (${machine.cpu}), ${rounds} rounds, ${minutes} minutes: [${file}](performance/${file}).${memory}`,
    'Goals that it did not measure are left out.',
    ...skipped.map(({ name, why }) => `${name} was skipped: ${why}.`),
    ...(note === undefined ? [] : [note]),
    '',
    ...head,
    ...goals.map(formatGoal),
    '',
  ]
}

function formatGoal(goal: Goal): string {
  const { measure, figure, unit } = goal
  return `| ${measure} | ${goal.goal} | ${range(figure, unit)} | ${verdictOn(goal)} |`
}

function verdictOn({ isReached, isAlwaysReached }: Goal): string {
  if (isReached === undefined) return 'not measured'
  if (!isReached) return '**missed**'
  return isAlwaysReached ? 'reached in every round' : 'reached, but not in every round'
}

export function range(figure: Figure | undefined, unit = ''): string {
  if (figure === undefined) return '–'
  const [middle, least, most] = [figure.middle, figure.least, figure.most].map(short)
  const spread = least === most ? '' : `(${least}–${most})`
  return [middle, unit, spread].filter((part) => part !== '').join(' ')
}
