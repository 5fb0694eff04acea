package pack

// hopeless is the share of the best chance below which nothing is shown, however short, where a pack does not fill its budget.
// satchel-lab eval --budget 2000, evidence and tokens of LoCoMo and test/talk: .008 .903 in 991, .671 in 1,360; .015 .899 in 951,
// .665 in 1,332; .03 .887 in 850, .653 in 1,236.
const hopeless = .015

// doubtfulShare is the share of the budget that knowledge and memory take where hardly anything answers and a pack does not fill it.
const doubtfulShare = .25
