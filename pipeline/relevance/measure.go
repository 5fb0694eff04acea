package relevance

import (
	"maps"
	"math"
	"strings"
	"time"
	"unicode"
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
	signals := map[string]any{"prompt_token_count": turn.Tokens, "greeting_pattern": greets(turn.Text)}
	if turn.Session {
		signals["working_memory_turns"] = turn.Turns
		signals["context_warmth"] = turn.warmth()
	}
	maps.Copy(signals, in.Signals)
	in.Signals = signals
	return in
}

// warmth is 1 for a session of four turns or more whose last turn was just now, and halves with
// each hour of silence.
func (t *Turn) warmth() float64 {
	const warm = 4
	return min(1, float64(t.Turns)/warm) * math.Exp2(-max(0, t.Silence.Hours()))
}

// greets reports whether a text is a greeting, thanks or farewell and nothing more. How somebody is may be
// asked with it.
func greets(text string) bool {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "hi", "hey", "hello", "hallo", "howdy", "greetings", "yo", "moin", "servus", "thanks", "thank", "danke", "bye", "goodbye", "tschüss":
	case "good", "guten", "gute":
		if len(words) < 2 || !dayTime(words[1]) {
			return false
		}
	default:
		return false
	}
	for n := 1; n < min(len(words), 4); n++ { // a name may stand before it
		if pleasantry(strings.Join(words[n:], " ")) {
			return true
		}
	}
	return len(words) <= 3 || len(words) <= 5 && words[0] == "thank"
}

// pleasantry reports whether a text asks how somebody is.
func pleasantry(text string) bool {
	switch text {
	case "how are you", "how are you doing", "how are you today", "how's it going", "how is it going", "how do you do",
		"how have you been", "what's up", "wie geht's", "wie geht es dir", "wie geht es ihnen":
		return true
	}
	return false
}

func dayTime(word string) bool {
	switch word {
	case "morning", "afternoon", "evening", "night", "day", "morgen", "tag", "abend", "nacht":
		return true
	}
	return false
}
