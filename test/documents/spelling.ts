/** Finds commonly misspelt words, doubled words, and banned phrases. */
import { type MarkdownFile, withoutCode } from './markdown-files.ts'

/** The wrong spelling is on the left of each pair. British spelling, as everywhere in this repository. */
const misspelt = `
accomodate accommodate, acheive achieve, acknowledgment acknowledgement, adress address, agressive aggressive,
allready already, alot a lot, anounce announce, apparant apparent, arbitary arbitrary, arguement argument, asynchonous asynchronous,
attestion attestation, authenication authentication, availible available, avaliable available, begining beginning,
beleive believe, cannnot cannot, certifcate certificate, charachter character, cipertext ciphertext, commited committed,
commiting committing, comparision comparison, compatability compatibility, completly completely, concious conscious,
concurent concurrent, confidental confidential, connnection connection, consistant consistent, containter container,
convertion conversion, cryptograhic cryptographic, curently currently, decribe describe, defalt default, definately definitely,
dependancy dependency, dependant dependent, deprected deprecated, dirctory directory, discription description, doesnt doesn't,
enviroment environment, existance existence, explicitely explicitly, familar familiar, finaly finally, foward forward,
gaurantee guarantee, gatway gateway, guarentee guarantee, happend happened, hierachy hierarchy, immediatly immediately,
implemention implementation, incomming incoming, independant independent, infomation information, initalize initialise,
intergrity integrity, interupt interrupt, knowlege knowledge, lenght length, liason liaison, libary library, licenced licensed,
maintainance maintenance, managment management, maximium maximum, measurment measurement, messsage message, millenium millennium,
minimium minimum, mispell misspell, neccessary necessary, noticable noticeable, occassion occasion, occured occurred,
occurence occurrence, occuring occurring, ommit omit, paramter parameter, particulary particularly, passsword password,
peice piece, persistant persistent, posess possess, possiblity possibility, preceeding preceding, prefered preferred,
privelege privilege, priviledge privilege, proccess process, propery property, protocoll protocol, publically publicly,
recieve receive, recieved received, recomend recommend, refered referred, refering referring, relevent relevant,
reponse response, requst request, resouce resource, retreive retrieve, revokation revocation, satisfing satisfying, seperate separate,
seperately separately, sevral several, signiture signature, similiar similar, succesful successful, successfull successful,
supress suppress, teh the, thier their, threshhold threshold, togehter together, transfered transferred, tranfer transfer,
truely truly, unforseen unforeseen, unneccessary unnecessary, untill until, usefull useful, verfication verification,
verifed verified, visable visible, wether whether, wich which, withold withhold, writting writing, yeild yield`

const pairs = new Map(
  misspelt
    .trim()
    .split(',')
    .map((pair) => {
      const [wrong = '', ...right] = pair.trim().split(/\s+/)
      return [wrong, right.join(' ')] as const
    }),
)

const phrases = [
  /a contradiction stops/i,
  /none harms/i,
  /suites (of|by|that) others/i,
  /could not be had/i,
  /stands twice/i,
  /stands still/i,
  /\bnobody disables\b/i,
  /takes none\b/i,
]

/** One line per finding. */
export function findSpelling(files: readonly MarkdownFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    const prose = withoutCode(text).replace(/\]\([^)]*\)/g, ']')
    const wrong = [...prose.matchAll(/[A-Za-z']+/g)].flatMap(([word]) => {
      const right = pairs.get(word.toLowerCase())
      return right === undefined ? [] : [`${path}: ${word}: write ${right}`]
    })
    const doubled = [...prose.matchAll(/\b([a-z]{2,})[ \n]\1\b/g)]
      .filter(([, word = '']) => !/^(that|had)$/.test(word))
      .map(([, word]) => `${path}: "${word}" is there twice in a row`)
    const odd = phrases.flatMap((phrase) => {
      const found = phrase.exec(prose.replace(/\s+/g, ' '))?.[0]
      return found === undefined ? [] : [`${path}: "${found}": see the style of the documents`]
    })
    return [...wrong, ...doubled, ...odd]
  })
}
