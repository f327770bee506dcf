/** One change of the schema. */
export type Migration = { readonly name: string; readonly sql: string }
