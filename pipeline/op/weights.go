package op

// How much a pack shows. Measured by satchel-lab eval --data test/talk --all --budget 2000, with --fill and without: packs that end
// have .665 of .758 of the evidence in 1,332 of 1,976 tokens. docs/explanation/packs.md has another set.
const (
	hardlyRelevant = .08 // what the best of knowledge and memory bears, below which hardly anything answers the question; .06 to .12 lose no evidence
	hardlyRead     = .02 // the same, where the best is shown by its passages: as a whole it may be about much else
	hardlySaid     = .04 // the same, where the best is a turn of a conversation: fewer words, and in other words
	answersAnyway  = .33 // what an item bears from which a question is answered that has a name which nothing here has
	few            = 10  // items that are shown of what hardly answers

	besideMemory = .09 // share of a memory's chance that documents need beside it, where all are less likely to answer
	manyMore     = 1   // deviations more, for questions that want many items
	ends         = 3.5 // deviations below the best value for its tokens, past which a pack shows nothing

	// What a pack that ends keeps of later items about the same thing as its likeliest, and of each part of a question of several.
	// satchel-lab eval, all evidence in tokens, and that of changed facts, for none, 3 and 6 later items: test/talk .667 in 1,328 .550,
	// .668 in 1,331 .561, .671 in 1,335 .578; test/held .792 in 972 .664, .793 in 977 .669, .796 in 981 .686.
	allWords    = .9 // of the question's words, in what has them all as the likeliest has: .75 and none are the same on these sets
	leastWords  = .5 // of the question's words in the likeliest, for later ones to count
	leastLater  = .5 // of those, in a later one
	neededLater = 6

	// What a pack that ends keeps of the time that the question names. satchel-lab eval --budget 2000, tokens for 0, 2, 4 and 6: test/talk
	// 1,227, 1,227, 1,228, 1,229; test/held 928, 929, 931, 933; the evidence is the same. Of three questions that name a month and
	// what happened in it, where other notes have the words, 4 answer all, 0 none.
	neededDays = 4

	// What a pack that ends keeps of later notes in other words: the cosine by the table to the likeliest, and how many. satchel-lab eval
	// --budget 2000, evidence in tokens, and that of changed facts, for 0, 3, 4 and 5: test/talk .728 in 1,190 .647, .742 in 1,228 .686,
	// .744 in 1,240 .692, .744 in 1,254 .692; test/held .828 in 863 .750, .847 in 928 .802, .852 in 952 .806, .856 in 977 .814. With .3
	// and .4 in the place of .2 and 3 notes: test/held .841 in 912 .785, .833 in 877 .758.
	neededChanges = 3
	leastLike     = .2
	comparedLater = 64
	headBytes     = 512

	leastPart  = .5 // of the words of a part of the question, in what answers it
	neededPart = 2
	mostParts  = 8       // as a plan has steps
	partBytes  = 8 << 10 // of an item that are read for it

	// passagesMore is that much farther for passages of documents, code and commits. satchel-lab eval --data test --set repository
	// --repository ., answered of 75 and tokens of 2,000: .5 31 in 1,416; 1.5 32 in 1,609; 2 32 in 1,716; 3 32 in 1,895; no end 32 in 1,976.
	passagesMore = 2
)
