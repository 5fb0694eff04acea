package roles

// What is quoted, and in which order.
const (
	// quotedTokens is of a pack for each step of the plan, where no model reads it, in tokens. On test/talk, every second
	// question, packs of 300, 400, 500 and 600 tokens (satchel ask --fill) have what answers .84, .87, .88 and .88 of the questions
	// that share words with it, and .41, .49, .56 and .57 of the others.
	quotedTokens = 400

	// leastShare is of a step's best score, where that clearly answers. None of these questions has such a best. Of 20 notes
	// that changed among 4,468 items, 18 have the newest quoted first whatever it is: in 312 tokens with 0, 101 with .05, 29 with
	// .1. With .1 a cause of a cause is left out.
	leastShare = 0.05

	// mostVersions is how many notes are like another, for one of them to be a later one about the same. Of 20 notes that changed 19
	// have the newest first with 1 to 9; of 60 questions about look-alike tickets 27 were told of a later one without it, and 3 or
	// fewer with 1 to 9.
	mostVersions = 4

	clearly     = 0.5  // score of a quotation that clearly answers: more likely than not
	leastNear   = 0.3  // of a quotation to a step of several, for the step to be answered
	leastSame   = 0.45 // cosine of two texts about the same thing
	leastShared = 0.5  // of the question's words in the best quotation, for a later one to come before it
)
