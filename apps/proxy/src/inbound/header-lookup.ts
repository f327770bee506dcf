/** Header fields by their name in lower case: those of a connection, or the platform's `Headers`. */
export type HeaderLookup = { get(name: string): string | null | undefined }
