package roles

// What is quoted, and in which order.
const (
	quotedTokens   = 300  // of a pack for each step of the plan, where no model reads it
	leastRelevance = 0.13 // of an item that is quoted for itself
	leastSame      = 0.45 // cosine of two texts about the same thing
	leastLater     = 0.1  // of the score of the best quotation, for a later one to come before it
	leastShared    = 0.5  // of the question's words in the best quotation, for the same
	closeLater     = 0.7  // of the best score of the later ones, for the newest to come first
	leastAlone     = 0.5  // of the question's words, in a sentence of a long note that as a whole does not bear on it
	leastMeaning   = 0.35 // cosine of it with the question
	clearWords     = 0.3  // of the question's words, in a note that clearly answers
	leastScore     = 0.3  // of a quotation for one of several steps
	longNote       = 240  // bytes of a text from which it is taken apart for several steps
)
