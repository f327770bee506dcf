/** What the conversations of the study are about: families of topics that share many of their words. */

export type Topic = {
  readonly name: string
  readonly family: Family
  /** Words of the topic itself. */
  readonly terms: readonly string[]
  /** Sentences that answers about it often have, as models repeat themselves. */
  readonly stock: readonly string[]
  /** Half of all answers have fewer sentences than this. */
  readonly sentences: number
  /** Share of sentences that stand in a list. */
  readonly listing: number
}

export type Family = keyof typeof families

/** Words that every topic of a family uses. */
export const families = {
  health:
    'doctor,clinic,symptoms,treatment,medication,appointment,side effects,test results,hospital,nurse,insurance,diagnosis,risk,pain,therapy',
  law: 'lawyer,court,evidence,documents,deadline,hearing,rights,agreement,authorities,penalty,claim,case,statement,appeal,law',
  money:
    'bank,interest,payment,savings,account,income,debt,fees,budget,loan,rate,credit score,balance,contract,broker',
  work: 'manager,team,meeting,contract,human resources,colleague,deadline,salary,feedback,notice,career,company,policy,position,skills',
  technology:
    'software,device,settings,update,error,file,browser,server,version,account,data,network,backup,screen,support',
  life: 'morning,weekend,friends,kitchen,season,water,plan,guide,price,weather,family,recipe,market,exercise,home',
} as const

const topic = (
  name: string,
  family: Family,
  sentences: number,
  listing: number,
  terms: string,
  ...stock: string[]
): Topic => ({ name, family, sentences, listing, terms: terms.split(','), stock })

export const topics: readonly Topic[] = [
  topic(
    ...(['depression', 'health', 12, 0.2] as const),
    'depression,antidepressants,mood,sleep,hopelessness,psychiatrist,counselling,serotonin,fatigue,motivation,self-care,anxiety,crisis line,relapse',
    'You are not alone, and it can get better with help.',
    'If you think about hurting yourself, call a crisis line now.',
  ),
  topic(
    ...(['pregnancy', 'health', 14, 0.3] as const),
    'pregnancy,trimester,ultrasound,midwife,folic acid,contractions,nausea,due date,fetus,birth plan,placenta,prenatal vitamins,miscarriage,obstetrician',
    'Every pregnancy is different, so ask your midwife first.',
    'Call the ward when contractions come every five minutes.',
  ),
  topic(
    ...(['hiv test', 'health', 6, 0.1] as const),
    'HIV,antibodies,window period,exposure,condom,antiretrovirals,viral load,partner,clinic visit,PEP,PrEP,blood sample,confidentiality,infection',
    'A test is only certain after the window period.',
    'PEP works best within hours and not after three days.',
  ),
  topic(
    ...(['cancer', 'health', 16, 0.3] as const),
    'cancer,tumour,chemotherapy,oncologist,biopsy,radiation,metastasis,remission,lymph nodes,surgery,screening,palliative care,immunotherapy,prognosis',
    'Ask the oncologist what the aim of the treatment is.',
    'A second opinion is normal and often useful.',
  ),
  topic(
    ...(['money laundering', 'law', 8, 0.4] as const),
    'laundering,shell company,offshore account,placement,layering,integration,suspicious activity report,cash deposits,beneficial owner,compliance officer,smurfing,sanctions,forfeiture,invoices',
    'Money laundering has three stages: placement, layering and integration.',
    'I cannot help with hiding the origin of money.',
  ),
  topic(
    ...(['divorce', 'law', 13, 0.3] as const),
    'divorce,custody,alimony,spouse,mediation,separation,prenuptial agreement,child support,visitation,marital property,petition,settlement,family court,guardianship',
    'The best interest of the child comes first in court.',
    'Mediation is cheaper than a trial and often faster.',
  ),
  topic(
    ...(['immigration', 'law', 19, 0.5] as const),
    'visa,asylum,residence permit,green card,consulate,deportation,sponsor,passport,naturalisation,work permit,biometrics,border,refugee,overstay',
    'Keep copies of every form that you send to the consulate.',
    'Overstaying a visa can lead to a ban of several years.',
  ),
  topic(
    ...(['tenancy', 'law', 7, 0.2] as const),
    'landlord,tenant,eviction,deposit,lease,rent increase,mould,repairs,notice period,inspection,utilities,sublet,housing office,inventory',
    'Write to your landlord and keep a copy of the letter.',
    'The deposit must come back when the flat is in order.',
  ),
  topic(
    ...(['bankruptcy', 'money', 12, 0.4] as const),
    'bankruptcy,creditors,insolvency,discharge,trustee,garnishment,assets,liquidation,repayment plan,collection agency,foreclosure,exemption,filing,liabilities',
    'Bankruptcy stops most collection calls at once.',
    'Not every debt is discharged at the end.',
  ),
  topic(
    ...(['taxes', 'money', 10, 0.6] as const),
    'tax return,deduction,withholding,refund,tax office,allowance,receipts,freelancer,VAT,audit,bracket,capital gains,filing date,accountant',
    'Keep every receipt for at least seven years.',
    'You can deduct what you need for your work.',
  ),
  topic(
    ...(['mortgage', 'money', 9, 0.3] as const),
    'mortgage,down payment,fixed rate,refinance,appraisal,equity,closing costs,amortisation,lender,principal,escrow,home loan,term,pre-approval',
    'A longer term means smaller payments and more interest.',
    'Compare at least three lenders before you sign.',
  ),
  topic(
    ...(['stock trading', 'money', 8, 0.3] as const),
    'stocks,shares,dividend,index fund,portfolio,volatility,options,short selling,brokerage,diversification,bond,earnings,market order,bear market',
    'Past returns say little about future ones.',
    'Do not invest money that you need next year.',
  ),
  topic(
    ...(['job interview', 'work', 11, 0.6] as const),
    'interview,resume,cover letter,recruiter,strengths,weaknesses,references,job offer,dress code,handshake,job description,hiring manager,question,follow-up',
    'Prepare two stories that show how you solved a problem.',
    'Send a short note of thanks on the same day.',
  ),
  topic(
    ...(['whistleblowing', 'work', 15, 0.2] as const),
    'whistleblower,retaliation,fraud,disclosure,journalist,anonymity,misconduct,regulator,leak,hotline,cover-up,protected disclosure,secure channel,witness',
    'Do not use a device of your employer for this.',
    'Laws protect disclosures to a regulator more than to the press.',
  ),
  topic(
    ...(['harassment', 'work', 12, 0.2] as const),
    'harassment,complaint,hostile environment,unwanted comments,discrimination,supervisor,bullying,incident,diary,investigation,confidential,abuse,grievance,equality office',
    'Write down what happened, when, and who was there.',
    'It is not your fault, and you do not have to face it alone.',
  ),
  topic(
    ...(['union', 'work', 9, 0.3] as const),
    'union,strike,collective bargaining,works council,organising,picket,ballot,shop steward,wage dispute,membership dues,solidarity,lockout,overtime,negotiation',
    'Your employer may not punish you for joining a union.',
    'Talk to colleagues outside working hours first.',
  ),
  topic(
    ...(['programming', 'technology', 5, 0.5] as const),
    'function,variable,array,loop,exception,promise,callback,type,compiler,import,test case,null,return value,stack trace',
    'Here is a small example that shows the idea.',
    'Check the types first, then run the tests again.',
  ),
  topic(
    ...(['password security', 'technology', 6, 0.5] as const),
    'password,two-factor,phishing,password manager,breach,passphrase,authenticator,recovery codes,malware,login,encryption key,security key,hacker,identity theft',
    'Use a different password for every account.',
    'Change it now if it was part of a breach.',
  ),
  topic(
    ...(['home network', 'technology', 7, 0.5] as const),
    'router,wireless,modem,signal,channel,ethernet,latency,firmware,access point,bandwidth,firewall,IP address,cable,mesh',
    'Turn the router off, wait thirty seconds, and turn it on.',
    'A cable is always faster than wireless.',
  ),
  topic(
    ...(['spreadsheets', 'technology', 4, 0.4] as const),
    'spreadsheet,cell,formula,column,pivot table,row,filter,chart,lookup,range,conditional formatting,macro,worksheet,sum',
    'Put this formula into the first cell and pull it down.',
    'Use absolute references where the range must not move.',
  ),
  topic(
    ...(['cooking', 'life', 10, 0.7] as const),
    'oven,garlic,butter,onion,simmer,flour,salt,pan,tomatoes,dough,olive oil,spices,minutes,sauce',
    'Season with salt and pepper and serve it warm.',
    'Let it rest for ten minutes before you cut it.',
  ),
  topic(
    ...(['travel', 'life', 22, 0.6] as const),
    'flight,hotel,itinerary,luggage,museum,beach,train,old town,reservation,hostel,jet lag,sightseeing,ferry,travel insurance',
    'Book the train early, because prices rise later.',
    'Spend the first day in the old town on foot.',
  ),
  topic(
    ...(['gardening', 'life', 8, 0.4] as const),
    'soil,seeds,compost,roots,pruning,tomato plants,fertiliser,sunlight,mulch,weeds,greenhouse,frost,watering can,slugs',
    'Water in the morning and never in full sun.',
    'Wait until the last frost before you plant outside.',
  ),
  topic(
    ...(['fitness', 'life', 11, 0.6] as const),
    'squats,muscles,protein,stretching,heart rate,repetitions,warm-up,weights,running,calories,rest day,push-ups,endurance,posture',
    'Start slowly and add a little every week.',
    'Rest is when muscles grow, so plan for it.',
  ),
]
