/** The word on the command line that makes the program a serving process of another. */
export const servingWord = 'serving-process'
