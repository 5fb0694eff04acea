package pack

// hopeless is the share of the best chance below which nothing is shown, however short, where a pack does not fill its budget.
// satchel eval --budget 2000, evidence and tokens of LoCoMo and test/talk: .008 .903 in 991, .671 in 1,360; .015 .899 in 951,
// .665 in 1,332; .03 .887 in 850, .653 in 1,236.
const hopeless = .015

// A pack of fewer than few items, in which knowledge and memory take less than little tokens, leaves nothing out for being worth
// too little. satchel eval --budget 2000, evidence and tokens of test/talk and test/held: 3 items .728 in 1,190 and .828 in 865,
// 4 .729 in 1,191 and .828 in 868, 5 .729 in 1,193 and .829 in 874, 6 .731 in 1,194 and .832 in 876. Of what packs of why-questions
// show among 5,700 items of other kinds, 88, 72, 60 and 52 % belong to the question. Of 12 notes that changed another in other
// words a pack of the few likeliest shows three more.
const (
	few    = 5
	little = 200
)

// doubtfulShare is the share of the budget that knowledge and memory take where hardly anything answers and a pack does not fill it.
const doubtfulShare = .25
