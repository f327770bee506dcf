/** The command that starts this program again, compiled or not. */
export function ownCommand(): string[] {
  const isCompiled = Bun.main.startsWith('/$bunfs/')
  return [process.execPath, ...(isCompiled ? [] : [...process.execArgv, Bun.main])]
}
