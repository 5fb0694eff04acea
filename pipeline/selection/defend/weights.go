package defend

// Floors of relevance that hold by default. Tools and documentation resemble questions less than memories do: one of them
// answers from closeAnswers, and then all of them may be shown, unless a memory answers better. Then each document needs
// as much. Of documentation the passages are chosen by their own scores.
const (
	defaultOffTopic   = .018  // of the best of memory and documents
	answers           = .04   // of a memory beside which documents must come near
	closeAnswers      = .01   // of the best tool, and of the best document
	besideBest        = .05   // share of the best memory's relevance that documents need beside it
	noRelevance       = .0001 // the least that is not none: relevance has four places
	defaultConfidence = .1
)
