package relevance

import (
	"maps"
	"math"
	"time"
)

// Turn is what the signals that a client leaves out are measured from.
type Turn struct {
	Text    string        // of the user
	Tokens  int           // of Text
	Session bool          // the request names a session
	Turns   int           // of the session, in its working memory
	Silence time.Duration // since the last of these
}

// Measured returns in with the signals that it lacks, as far as turn tells them. Signals that a
// client sent stay as they are.
func (in Input) Measured(turn Turn) Input {
	signals := map[string]any{"prompt_token_count": turn.Tokens, "greeting_pattern": Greets(turn.Text)}
	if turn.Session {
		signals["working_memory_turns"] = turn.Turns
		signals["context_warmth"] = turn.computeWarmth()
	}
	maps.Copy(signals, in.Signals)
	in.Signals = signals
	return in
}

// computeWarmth is 1 for a session of four turns or more whose last turn was just now, and halves with
// each hour of silence.
func (t *Turn) computeWarmth() float64 {
	const warm = 4
	return min(1, float64(t.Turns)/warm) * math.Exp2(-max(0, t.Silence.Hours()))
}
