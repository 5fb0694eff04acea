package defend

import (
	"cmp"
	"fmt"
	"slices"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection/defend/injection"
	"satchel/schemas"
)

// InjectionMode is what happens to a candidate that looks like an injected instruction.
type InjectionMode string

// The modes. The zero mode is InjectionDrop.
const (
	InjectionDrop  InjectionMode = "drop"  // what is beyond doubt is left out, with the reason; the rest is fenced
	InjectionFence InjectionMode = "fence" // it is shown within a fence that says what it is
	InjectionOff   InjectionMode = "off"   // nothing is looked at
)

// UnreadMode is what happens to a text in a language that the classifier does not know.
type UnreadMode string

// The modes. The zero mode is UnreadFence.
const (
	UnreadFence UnreadMode = "fence" // it is shown within a fence, unless it is trusted
	UnreadShow  UnreadMode = "show"  // it is shown as if it had been judged
)

// Scores from which a text that orders its reader is left out. Documentation tells its
// readers what to do by its nature, so it takes more.
const (
	dropScore          = .6
	dropScoreDocuments = .9
)

// toolOdds is how many times surer the classifier has to be of a tool before it is left out, and of one that orders
// nobody before it is quoted: a description says by its nature what to do.
const toolOdds = 5

// trusted is the trust from which a text is shown that nobody could judge.
const trusted = .8

// treatment is what is done with a text for what the classifier made of it.
type treatment uint8

const (
	showText  treatment = iota
	fenceText           // it looks injected
	dropText            // it is injected
	fenceUnread
)

// chooseTreatment decides on a text of a kind, written with a trust. documents says that it is
// documentation.
func (c *Config) chooseTreatment(f injection.Finding, kind schemas.Kind, documents bool, trust float64) treatment {
	fence := c.Threshold
	drop := max(c.Threshold, dropScore)
	if documents {
		drop = max(drop, dropScoreDocuments)
	}
	if kind == schemas.KindTool {
		drop = 1 - (1-drop)/toolOdds
	}
	if kind == schemas.KindTool && !f.Orders {
		fence = 1 - (1-fence)/toolOdds
	}
	switch {
	case c.Injection == InjectionOff:
		return showText
	case f.Score >= drop && f.Orders && c.Injection != InjectionFence:
		return dropText
	case f.Score >= fence:
		return fenceText
	case f.Unread && trust < trusted && kind != schemas.KindCode && c.Unread != UnreadShow:
		return fenceUnread
	}
	return showText
}

// Documents reports whether an item is documentation: knowledge, code, commits, and what
// was imported from files.
func Documents(r *candidate.Visible) bool {
	switch r.Kind {
	case schemas.KindKnowledge, schemas.KindCode, schemas.KindCommit:
		return true
	}
	return r.FromFile()
}

// treatInjected drops or marks a candidate as configured. The detail has the score and never the text.
func (d *Defenses) treatInjected(c *candidate.Candidate, f injection.Finding) {
	if d.classifier == nil {
		return
	}
	switch d.cfg.chooseTreatment(f, c.Kind, Documents(c.Visible), c.TrustOrDefault()) {
	case dropText:
		c.Drop, c.Detail = schemas.DropInjection, fmt.Sprintf("%s scores it %.2f", injection.Revision, f.Score)
	case fenceText:
		c.Suspect = true
	case fenceUnread:
		c.Unjudged = true
	}
}

// splitDetail is the detail of an item that shares an injected instruction with others.
const splitDetail = injection.Revision + " finds an instruction that goes on in another item of the session"

// judgeSplits judges what is kept of a session together: an instruction that runs over the
// ends of items is of all of them, and drops or marks them.
func (d *Defenses) judgeSplits(cs []candidate.Candidate) {
	d.markShares(cs, func(c *candidate.Candidate, share injection.Share) {
		if share == injection.SureShare && d.cfg.Injection != InjectionFence {
			c.Drop = schemas.DropInjection
			c.Detail = splitDetail
		}
	})
}

// markSplits is splits, but that it marks alone.
func (d *Defenses) markSplits(cs []candidate.Candidate) {
	d.markShares(cs, func(*candidate.Candidate, injection.Share) {})
}

// markShares marks the items that share an instruction, and calls f with each.
func (d *Defenses) markShares(cs []candidate.Candidate, f func(*candidate.Candidate, injection.Share)) {
	if d.classifier == nil {
		return
	}
	for _, at := range sessionsOf(cs) {
		texts := make([]string, len(at))
		for k, i := range at {
			texts[k] = cs[i].Content.Text()
		}
		for k, share := range d.classifier.Across(texts) {
			c := &cs[at[k]]
			if share == injection.NoShare || !c.Kept() {
				continue
			}
			c.Suspect = true
			f(c, share)
		}
	}
}

// thread is what one writer recorded in a session. Texts of several writers are not read together: one could have the
// other's left out.
type thread struct{ session, writer, signer string }

// sessionsOf returns, for each session and writer of which several candidates are shown or would be
// but for an injection, their indexes in the order of the session.
func sessionsOf(cs []candidate.Candidate) [][]int {
	bySession := map[thread][]int{}
	for i := range cs {
		if id := cs[i].SessionID(); id != "" && (cs[i].Kept() || cs[i].Drop == schemas.DropInjection) {
			of := thread{id, cs[i].Writer, cs[i].Facets.Signer}
			bySession[of] = append(bySession[of], i)
		}
	}
	var out [][]int
	for _, at := range bySession {
		if len(at) < 2 {
			continue
		}
		slices.SortFunc(at, func(a, b int) int {
			x := cs[a].Visible
			y := cs[b].Visible
			return cmp.Or(cmp.Compare(x.Seq, y.Seq), cmp.Compare(x.First, y.First), cmp.Compare(x.ID, y.ID))
		})
		out = append(out, at)
	}
	return out
}
