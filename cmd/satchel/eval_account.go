package main

import (
	"fmt"
	"math"
	"strings"
	"unicode"

	"satchel/cmd/satchel/internal/eval"
	"satchel/schemas"
)

// shares returns, by the set's ids, which part of each shown item's text is shown.
func (s *evalSystem) shares(p *schemas.ResultPayload) map[string]float64 {
	out := map[string]float64{}
	for _, section := range p.Pack.Sections {
		for _, item := range section.Items {
			share := 1.0
			if len(item.Spans) > 0 {
				share = float64(length(item.Spans)) / float64(max(1, len(s.texts[item.ID])))
			}
			out[s.ids[item.ID]] = share
		}
	}
	return out
}

func length(spans []schemas.Span) int {
	n := 0
	for _, sp := range spans {
		n += sp.End - sp.Start
	}
	return n
}

// account holds a reply against the set's own texts: which characters of what it named
// are neither shown nor dropped, and which of its citations do not resolve.
func (s *evalSystem) account(p *schemas.ResultPayload) eval.Account {
	var a eval.Account
	dropped := map[string][]schemas.Span{}
	for _, d := range p.Drop.Drops {
		if d.Span != nil {
			dropped[d.ItemID] = append(dropped[d.ItemID], *d.Span)
			continue
		}
		a.Removed += len(s.texts[d.ItemID])
		if _, known := s.texts[d.ItemID]; known {
			a.Named += len(s.texts[d.ItemID])
		}
	}
	shown := map[string]bool{}
	number := 0
	for _, section := range p.Pack.Sections {
		for _, item := range section.Items {
			shown[item.ID] = true
			number++
			text := s.texts[item.ID]
			a.Add(named(len(text), item.Spans, dropped[item.ID]))
			a.Cited += 1 + len(item.Spans)
			if strings.Contains(p.Text, fmt.Sprintf("[%d] ", number)) && number <= len(p.Results) && p.Results[number-1].ID == item.ID {
				a.Resolved++
			}
			for _, sp := range item.Spans {
				if sp.Start >= 0 && sp.End <= len(text) && sp.Start < sp.End && strings.Contains(p.Results[number-1].Content.Text(), text[sp.Start:sp.End]) {
					a.Resolved++
				}
			}
		}
	}
	for _, sentence := range p.Explainability.TLDR.Sentences {
		for _, id := range sentence.Citations {
			a.Cited++
			if shown[id] && (p.Explainability.TLDR.Method != "" || strings.Contains(bare(s.texts[id]), bare(sentence.Text))) {
				a.Resolved++
			}
		}
	}
	return a
}

// bare is a text without what a pack leaves out of a line or puts before it: white
// space, characters that are not printed, and backslashes.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\\' || unicode.IsSpace(r) || !unicode.IsGraphic(r) {
			return -1
		}
		return r
	}, text)
}

// named counts the bytes of a text that are not shown, and those of them that exactly
// one dropped span holds.
func named(size int, shown, dropped []schemas.Span) eval.Account {
	if len(shown) == 0 {
		shown = []schemas.Span{{Start: 0, End: size}}
	}
	var a eval.Account
	marks := make([]int8, size)
	for _, sp := range shown {
		for i := max(0, sp.Start); i < min(sp.End, size); i++ {
			marks[i] = math.MinInt8 / 2
		}
	}
	for _, sp := range dropped {
		for i := max(0, sp.Start); i < min(sp.End, size); i++ {
			marks[i]++
		}
	}
	for _, m := range marks {
		if m >= 0 || m > math.MinInt8/2 { // not shown, or shown and dropped
			a.Removed++
			if m == 1 {
				a.Named++
			}
		}
	}
	return a
}

// percent writes a share so that only a whole one reads as 100 %.
func percent(share float64) string {
	if share < 1 {
		return fmt.Sprintf("%.2f%%", math.Floor(share*1e4)/100)
	}
	return "100%"
}
