package compaction

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/fill"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// Source is an item that may be summarised.
type Source struct {
	Candidate *candidate.Candidate
	Class     string // items of one class alone are summarised together
}

// readLeafText is the whole of a leaf.
func (l *Source) readLeafText() string {
	if e := l.Candidate.Extract; e != nil {
		return e.Whole.Text()
	}
	return l.Candidate.Content.Text()
}

// Summary is an extractive summary: each line is cut from what it cites.
type Summary struct {
	ID      string // of its text and what it cites: the same again has the same id
	Level   schemas.SummaryLevel
	Session string
	Text    string
	Lines   []schemas.SummaryLine
	Links   []string // what it is derived from, one level below, in order
	Leaves  []int    // the items below it
}

// Limits of the hierarchy.
const (
	longItem    = 96 // tokens from which an item has a summary of its own
	mostLeaves  = 24 // of a cluster
	itemPart    = .5 // of an item's tokens that its summary takes at most
	clusterPart = .4
	blobTokens  = 480 // that the lines of a log, a table, … are picked for
)

// Summarise makes summaries of the leaves from the bottom up: of each item of 96 tokens or
// more that has three sentences, of each run of items that are together in a session
// and on a day, and of each session with more than one such run. A summary that would
// save nothing is not made. A level takes its lines from the one below and cites them
// there: a session's line cites a cluster's, that one an item or its summary, down to
// the characters. A session's summary takes at most budget tokens. Sentences are taken
// by relevance to the query and by what they say that is not said yet.
func Summarise(leaves []Source, query string, budget int, by token.Counter) []Summary {
	h := &hierarchy{leaves: leaves, by: by, r: newReader(query, nil)}
	h.pieces = make([]piece, len(leaves))
	for i := range leaves {
		c := *leaves[i].Candidate
		c.ShowWhole()
		h.pieces[i] = piece{c: &c, before: Tokens(&c, by)}
		h.r.readItem(&h.pieces[i], query, blobTokens)
		if h.pieces[i].lines != nil {
			h.r.openLines(&h.pieces[i])
		}
	}
	for _, session := range h.groupLeaves() {
		var lines []line
		for _, cluster := range session {
			lines = append(lines, h.summariseCluster(cluster)...)
		}
		if len(session) > 1 {
			h.addSummary(schemas.SummaryOfSession, leaves[session[0][0]].Candidate.SessionID(), lines, budget)
		}
	}
	return h.out
}

type hierarchy struct {
	leaves []Source
	pieces []piece
	r      *reader
	by     token.Counter
	out    []Summary
}

// groupLeaves groups leaves: sessions of one class, each a list of clusters in order of time.
func (h *hierarchy) groupLeaves() [][][]int {
	order := fill.All(len(h.leaves))
	slices.SortStableFunc(order, func(a, b int) int {
		x := h.leaves[a].Candidate.Visible
		y := h.leaves[b].Candidate.Visible
		return cmp.Or(cmp.Compare(h.leaves[a].Class, h.leaves[b].Class), cmp.Compare(x.SessionID(), y.SessionID()), x.CreatedAt.Compare(y.CreatedAt),
			cmp.Compare(x.Seq, y.Seq), cmp.Compare(x.Position, y.Position), cmp.Compare(x.ID, y.ID))
	})
	var out [][][]int
	var session, day string
	for n, i := range order {
		r := h.leaves[i].Candidate.Visible
		s := h.leaves[i].Class + "\x00\x00" + r.SessionID()
		d := r.CreatedAt.UTC().Format("2006-01-02")
		if n == 0 || s != session {
			out = append(out, nil)
		}
		clusters := &out[len(out)-1]
		last := len(*clusters) - 1
		if last < 0 || d != day || len((*clusters)[last]) == mostLeaves {
			*clusters = append(*clusters, []int{i})
		} else {
			(*clusters)[last] = append((*clusters)[last], i)
		}
		session = s
		day = d
	}
	return out
}

// line is one that a level may take.
type line struct {
	text    string
	speaker string
	cite    schemas.SpanRef
	terms   []uint64
	score   float64
	cost    int
	leaf    int
}

// summariseCluster summarises items that are together, and the long ones of them each. It
// returns the lines that the level above may take.
func (h *hierarchy) summariseCluster(leaves []int) []line {
	var lines []line
	total := 0
	for _, i := range leaves {
		total += h.pieces[i].before
		lines = append(lines, h.summariseItem(i)...)
	}
	if len(leaves) < 2 {
		return lines
	}
	return h.addSummary(schemas.SummaryOfCluster, h.leaves[leaves[0]].Candidate.SessionID(), lines, int(clusterPart*float64(total)))
}

// summariseItem returns the lines of an item: its sentences, or those of its summary when it is
// long.
func (h *hierarchy) summariseItem(i int) []line {
	p := &h.pieces[i]
	r := p.c.Visible
	text := h.leaves[i].readLeafText()
	scores := h.r.scoreUnits(p)
	lines := make([]line, len(p.units))
	for n, u := range p.units {
		lines[n] = line{text: text[u.Start:u.End], speaker: oneLine(r.Speaker), cite: schemas.SpanRef{ItemID: r.ID, Span: u},
			terms: p.terms[n], score: scores[n], cost: 1 + p.before*(u.End-u.Start)/(len(text)+1), leaf: i}
	}
	if p.before < longItem || len(lines) < 3 && p.lines == nil {
		return lines
	}
	return h.addSummary(schemas.SummaryOfItem, r.SessionID(), lines, int(itemPart*float64(p.before)))
}

// addSummary makes a summary of the best lines that take at most limit tokens, in their order, and returns its lines as the level
// above may take them. It makes none, and returns the lines as they are, when the summary would hold them all or none,
// would save nothing, or would, as that of several items, repeat one of them.
func (h *hierarchy) addSummary(level schemas.SummaryLevel, session string, lines []line, limit int) []line {
	taken := chooseLines(lines, limit, level != schemas.SummaryOfItem)
	isWhole := level == schemas.SummaryOfItem && len(taken) == len(lines)
	if len(taken) == 0 || isWhole && h.pieces[lines[0].leaf].lines == nil {
		return lines
	}
	s := Summary{Level: level, Session: session}
	var b strings.Builder
	speaker := ""
	for _, i := range taken {
		l := &lines[i]
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if l.speaker != "" && l.speaker != speaker { // said once for the lines that follow
			b.WriteString(l.speaker + ": ")
		}
		speaker = l.speaker
		start := b.Len()
		b.WriteString(l.text)
		s.Lines = append(s.Lines, schemas.SummaryLine{Span: schemas.Span{Start: start, End: b.Len()}, Cites: []schemas.SpanRef{l.cite}})
		if !slices.Contains(s.Links, l.cite.ItemID) {
			s.Links = append(s.Links, l.cite.ItemID)
		}
		if !slices.Contains(s.Leaves, l.leaf) {
			s.Leaves = append(s.Leaves, l.leaf)
		}
	}
	s.Text = b.String()
	whole := 0
	of := map[int]bool{}
	for i := range lines {
		if leaf := lines[i].leaf; !of[leaf] {
			of[leaf] = true
			whole += h.pieces[leaf].before
		}
	}
	if level != schemas.SummaryOfItem && len(s.Links) < 2 || h.by.Count(s.Text) >= whole {
		return lines
	}
	s.ID = idOf(&s)
	h.out = append(h.out, s)
	below := make([]line, len(taken))
	for n, i := range taken {
		below[n] = lines[i]
		below[n].cite = schemas.SpanRef{ItemID: s.ID, Span: s.Lines[n].Span}
	}
	return below
}

// idOf is the SHA-256 of level, text and citations, shortened to 128 bits.
func idOf(s *Summary) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\x00%s\x00", s.Level, s.Text)
	for _, l := range s.Lines {
		fmt.Fprintf(sum, "%s\x00%d-%d\x00", l.Cites[0].ItemID, l.Cites[0].Span.Start, l.Cites[0].Span.End)
	}
	return "summary-" + hex.EncodeToString(sum.Sum(nil)[:16])
}

// oneLine is a speaker as a summary writes it.
func oneLine(speaker string) string { return strings.ReplaceAll(speaker, "\n", " ") }

const (
	mostLines = 200 // of one summary, for its links and citations
	repeated  = .7  // of a line's score that is lost when all of it has been said
)

// chooseLines picks lines greedily by score and by what they say that no line before has said,
// against their cost, until limit tokens are taken, and returns them in order.
func chooseLines(lines []line, limit int, speakers bool) []int {
	said := map[uint64]bool{}
	var taken []int
	shelf := fill.Shelf{
		Value: func(i int) float64 {
			known := 0
			for _, t := range lines[i].terms {
				if said[t] {
					known++
				}
			}
			again := float64(known) / float64(len(lines[i].terms)+1)
			return (lines[i].score + .05) * (1 - repeated*again) / math.Sqrt(float64(lines[i].cost)+4)
		},
		Take: func(i int, _ float64) ([]int, bool) {
			cost := lines[i].cost
			if speakers && lines[i].speaker != "" {
				cost += 2
			}
			if cost > limit && len(taken) > 0 {
				return nil, false
			}
			limit -= cost
			taken = append(taken, i)
			for _, t := range lines[i].terms {
				said[t] = true
			}
			return nil, len(taken) == mostLines
		},
	}
	shelf.Fill(fill.All(len(lines)))
	slices.Sort(taken)
	return taken
}
