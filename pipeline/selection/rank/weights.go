package rank

// Weights are the parameters of the fuser. They were measured on conversations,
// tools, code and abstracts together; one set serves all.
type Weights struct {
	Keyword float64 // of z(K(BM25))
	Vector  float64 // of z(K(cosine))
	Encoder float64 // of z(K(cosine)) by the sentence encoder
	Words   float64 // of z(K(MaxSim)), the closeness of single words
	Near    float64 // kernel weight of a neighbour one turn away
	Far     float64 // kernel weight of a neighbour two turns away
	Damping float64 // terms above which a turn shares less with its neighbours
	Role    float64 // cue: the user said it
	Speaker float64 // cue: its speaker is named in the query
	Date    float64 // cue: it was said at the time the query names
	When    float64 // cue: it holds a time expression and the query asks when
	Short   float64 // cue: it is itself a short question; negative

	Meaning Meaning
	Chances [groups]Chance // of memories, documents and tools
	Encoded [groups]Chance // Chances of what the sentence encoder found, too
}

// DefaultWeights returns the measured weights.
func DefaultWeights() Weights {
	return Weights{
		Keyword: .25, Vector: .30, Encoder: .30, Words: .20,
		Near: .5, Far: .3, Damping: 40,
		Role: .6, Speaker: .8, Date: 1, When: .8, Short: -.8,
		Meaning: Meaning{Covered: .6, Fading: .2, Vector: .25, Brief: .5, BriefTurn: 12, Encoder: .8, Session: .45, Long: .45, LongTurn: 24},
		Chances: makeChances(), Encoded: encoderChances(),
	}
}

// Meaning says how turns of conversations are weighed for a question that is asked in other words than theirs. With c the
// largest share of the question that the equal words of one item cover, and u = (Covered − c)/Fading within 0 and 1, the
// keyword channel counts 1 − u of its weight, and the vectors count u·Vector more.
//
// Fitted to recall at 10 on the seven conversations of test/talk by satchel-lab fit --data test/talk --meaning. With the
// shipped constants it is .492. One by one: Covered .5 .475, .7 .498; Fading .1 .494, .3 .481; Vector .15 .482, .35 .488;
// Brief 0 .449, .3 .479, .7 .497.
//
// Beside the sentence encoder u is 1 − c, the keyword channel and the vectors count 1 − u of their weight, and the encoder
// counts u·Encoder deviations of the turn's cosine and, by Session of that, of the best other turn of its session. By the same
// program with -encoder that finds .568, and .569 where the constants are chosen without the conversation. One by one: Encoder
// .6 .566, 1 .572; Session 0 .549, .3 .564, .6 .568; Long 0 .551, .3 .570, .6 .576.
type Meaning struct {
	Covered   float64 // share of the question's weight from which it is asked in the words of memory
	Fading    float64 // share below that at which the keyword channel is gone
	Vector    float64 // of the z-score of the cosine, without neighbours
	Brief     float64 // deviations that a turn loses for each halving below BriefTurn
	BriefTurn int     // words

	Encoder  float64 // of the z-score of the encoder's cosine, without neighbours
	Session  float64 // of Encoder, for the best other turn of the session
	Long     float64 // deviations, times u, that a turn loses for each halving below LongTurn
	LongTurn int     // words
}

// What speaks for an item besides its calibration, and what speaks against any.
const (
	spokenFor = .04 // relevance at least, of what has a rare word of the question or was made on a day that it names
	rarely    = 3.5 // deviations above the mean of all, of the first by its words
	alikeRaw  = .7  // of the raw scores of an item, that another has which says nearly the same
	byTable   = .66 // deviations of the encoder's cosine for each of the table's: the slope over the candidates of test/talk
	oddPieces = 3   // pieces of the vocabulary from which a word that no item has is no word of the language

	namesBytes = 32 << 10 // of an item, where such a word is looked for once more

	// madeUpShare is how much of the weight of the question's words such words of more pieces have, names apart, from which nothing
	// answers. satchel-lab eval --out, answerable questions that find nothing of 572 of test/talk, 360 of test/held, 1,811 of LoCoMo and
	// MetaTool: .3 5, 1, 1; .4 2, 0, 1; .5 2, 0, 1. Of eight questions about made-up words .5 lets two through that .4 does not.
	madeUpShare = .4
)
