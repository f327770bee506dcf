/** The engine of a machine as people call it. */

/** Workers put `http` in front of the name of a model server that runs beside them. */
export const describeEngine = (name: string): string => name.replace(/^http /, '')
