package injection

import (
	"math"
	"slices"
	"strings"

	lang "satchel/pipeline/language"
)

// Finding is what the classifier makes of a text.
type Finding struct {
	Score  float64 // how likely the text carries an instruction to its reader, 0–1
	Orders bool    // a sentence of it orders its reader to do something, and is an attack by itself
	Likely bool    // a sentence of it speaks to its reader, and is an attack by itself more likely than not
	Unread bool    // a sentence of it is in a language that the classifier does not know
}

// Logits from which a sentence by itself is an attack, or steers the reply.
const (
	sureAttack = 3
	sureSteer  = 5

	likelySteer = 1
)

// A text is injected by a sentence: the sentence has to be surer than the text by lead, and a task by
// sureTask more. Scores are those of training less caution, but for
// an attack that names a model.
const (
	caution  = .97
	lead     = .5
	sureTask = 1
)

// Judge returns what the classifier makes of a text and of what it says once an encoding is
// undone. JSON is judged by its strings, and a log by the values in it as well.
func (c *Classifier) Judge(text string) Finding {
	var f Finding
	logit := float32(-limit)
	take := func(g Finding, l float32) {
		logit = max(logit, l)
		f.Orders = f.Orders || g.Orders
		f.Likely = f.Likely || g.Likely
	}
	r := readText(text)
	sure := func(part string) { // one of many has to be beyond doubt
		if g, l := c.judgeText(part); l > 0 && g.Orders {
			take(g, l)
		}
	}
	for _, body := range r.bodies {
		for _, chunk := range splitChunks(body) {
			g, l := c.judgeText(chunk)
			take(g, l)
			f.Unread = f.Unread || g.Unread
			out, plain := listViews(chunk)
			for _, view := range out {
				take(c.judgeText(view))
			}
			for _, part := range append(findSeparatedText(plain), findStackedText(plain)...) {
				sure(part)
			}
		}
	}
	for _, part := range r.parts {
		sure(part)
		out, _ := listViews(part)
		for _, view := range out {
			sure(view)
		}
	}
	f.Score = 1 / (1 + math.Exp(-float64(logit)))
	return f
}

// judgeText reads a text as it stands, and its sentences that look injected by themselves as well: what
// stands around them hides none.
func (c *Classifier) judgeText(text string) (f Finding, logit float32) {
	var d document
	var apart spans
	c.visitSentences(text, func(s *sentence) {
		d.addSentence(s)
		apart.extendSpans(text, s)
		f.Orders, f.Likely = f.Orders || s.isSureAttack(), f.Likely || s.isLikelyAttack()
		f.Unread = f.Unread || s.unread
	})
	if d.sentences == 0 {
		return f, -limit
	}
	var x [inputs]float32
	d.fillInputs(&x)
	logit = c.model.decideInjection(&x)
	if a := &d.top[attack]; a.logit[attack] < 0 || a.all&machine == 0 {
		logit -= caution
	}
	logit = min(logit, d.computeEvidence()-lead)
	for _, at := range apart {
		if logit < 0 && at.End-at.Start < len(text) {
			_, l := c.judgeText(text[at.Start:at.End])
			logit = max(logit, l)
		}
	}
	return f, logit
}

// isSureAttack reports whether a sentence is an attack by itself that speaks to its reader.
func (s *sentence) isSureAttack() bool {
	return (s.logit[attack] >= sureAttack || s.logit[steer] >= sureSteer) && s.hasAddressee()
}

// isLikelyAttack reports whether a sentence is an attack by itself, more likely than not, that speaks to its reader.
func (s *sentence) isLikelyAttack() bool {
	return (s.logit[attack] >= 0 || s.logit[steer] >= likelySteer) && s.hasAddressee()
}

// hasAddressee reports whether a sentence speaks to its reader.
func (s *sentence) hasAddressee() bool {
	return s.imperative || s.all&(you|machine) != 0 || s.all&override != 0 && s.all&orders != 0
}

// Share says how an attack is spread over several texts: whether a text has a part of it.
type Share uint8

// The shares.
const (
	NoShare     Share = iota
	LikelyShare       // of a sentence that is an attack more likely than not
	SureShare         // of one that is beyond doubt
)

// Across returns which of several texts, which stand one behind the other, share an
// attack: a sentence that speaks to its reader and runs over the end of one of them. A text that
// is injected by itself shares with none that adds nothing. Of JSON it reads what Judge reads.
func (c *Classifier) Across(texts []string) []Share {
	shared := make([]Share, len(texts))
	texts = slices.Clone(texts)
	for i := range texts {
		texts[i] = lang.Bare(strings.TrimSpace(readBody(texts[i])))
	}
	for i := 0; i+1 < len(texts); i++ {
		if isClosedText(texts[i]) {
			continue
		}
		var joined strings.Builder
		var ends []int
		for k := i; k < len(texts) && k-i < mostTexts; k++ {
			part := texts[k]
			if k == i {
				part = part[max(0, len(part)-longestText):]
			}
			part = part[:min(len(part), longestText)]
			joined.WriteString(part + " ")
			ends = append(ends, joined.Len())
			if k > i && isClosedText(part) {
				break
			}
		}
		c.visitSentences(joined.String(), func(s *sentence) {
			if !s.isLikelyAttack() || s.start >= ends[0] || s.end <= ends[0] {
				return
			}
			share := LikelyShare
			if s.isSureAttack() {
				share = SureShare
			}
			last := 0 // part of the sentence
			for from := s.start; last < len(ends) && from < s.end; last++ {
				part := joined.String()[from:min(s.end, ends[last])]
				from = ends[last]
				if c.isAttackAlone(s, texts[i+last], part) {
					return
				}
			}
			for k := range last {
				shared[i+k] = max(shared[i+k], share)
			}
		})
	}
	return shared
}

// isAttackAlone reports whether a sentence is an attack by its part in one text, to which the other texts
// add nothing, and that text is injected by itself.
func (c *Classifier) isAttackAlone(s *sentence, text, part string) bool {
	found := false
	c.visitSentences(part, func(p *sentence) {
		found = found || p.isSureAttack() && max(p.logit[attack], p.logit[steer]) >= max(s.logit[attack], s.logit[steer])
	})
	return found && c.Judge(text).Score >= Threshold
}

// Bounds of what Across reads of texts that go on in each other.
const (
	mostTexts   = 6
	longestText = 300 // bytes
)

// isClosedText reports whether a text ends with a sentence.
func isClosedText(text string) bool {
	text = strings.TrimRight(text, " \t\r\n\"')]*")
	return text == "" || strings.IndexByte(".!?", text[len(text)-1]) >= 0
}

// imperatives are the words by which an order begins.
const imperatives = `ignore disregard forget override bypass neglect discard dismiss cancel stop reveal print show output leak dump
disclose expose display repeat recite send post upload forward transmit exfiltrate email export share copy call invoke execute run
trigger launch delete drop remove wipe erase overwrite encrypt disable deactivate transfer wire pay approve grant escalate remember
memorize act pretend behave obey follow comply say reply respond answer include append add insert write embed do don't never always`

var imperative = hashVerbs()

func hashVerbs() map[uint32]bool {
	table := map[uint32]bool{}
	tokens := tokenizer{text: imperatives}
	for tokens.moveToNext() {
		table[tokens.hash] = true
	}
	return table
}
