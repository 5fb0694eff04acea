package pack

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"satchel/pipeline/candidate"
)

// Versions returns for each candidate the one that it is an older version of, −1 for none, and its own older versions,
// the newest first. An older version is shown below its newest as what it says otherwise, where both are kept whole.
func Versions(cs []candidate.Candidate) (newest []int, older [][]int) {
	newest = make([]int, len(cs))
	older = make([][]int, len(cs))
	at := map[string]int{}
	for i := range cs {
		newest[i] = -1
		if isWhole(&cs[i]) {
			at[cs[i].ID] = i
		}
	}
	for i := range cs {
		of, ok := at[cs[i].Newer]
		if ok && isWhole(&cs[i]) {
			newest[i] = of
			older[of] = append(older[of], i)
		}
	}
	for _, list := range older {
		slices.SortStableFunc(list, func(a, b int) int {
			return cmp.Or(cs[b].CreatedAt.Compare(cs[a].CreatedAt), cmp.Compare(cs[b].Position, cs[a].Position), cmp.Compare(cs[a].ID, cs[b].ID))
		})
	}
	return newest, older
}

// isWhole reports whether a candidate is kept, and is not shown in part.
func isWhole(c *candidate.Candidate) bool {
	return c.Kept() && c.Quote == nil && c.Extract == nil && !c.Abbreviated
}

// belowNewest puts the older versions of each item behind it, the newest of them first.
func (w *packer) belowNewest(list []int) []int {
	out := make([]int, 0, len(list))
	for _, i := range list {
		if w.newest[i] >= 0 {
			continue
		}
		out = append(out, i)
		for _, of := range w.older[i] {
			if w.taken[of] {
				out = append(out, of)
			}
		}
	}
	return out
}

// isWaiting reports whether an older version has no newest to be shown below, or one that what stays of the last pack follows.
func (w *packer) isWaiting(i int) bool {
	of := w.newest[i]
	return of >= 0 && (!w.taken[of] || slices.Contains(w.req.Before[:w.held], of))
}

// versionsLast has older versions give way first where the limit of items counts: each is part of an entry.
func (w *packer) versionsLast() {
	if len(w.chosen) <= w.req.Limit {
		return
	}
	at := make([]int, 0, len(w.chosen)-w.held)
	for n := w.held; n < len(w.chosen); n++ {
		at = append(at, n)
	}
	isOlder := func(n int) int { return min(0, w.newest[w.chosen[n]]) + 1 }
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(isOlder(a), isOlder(b)) })
	chosen := slices.Clone(w.chosen)
	costs := slices.Clone(w.costs)
	for n, from := range at {
		w.chosen[w.held+n] = chosen[from]
		w.costs[w.held+n] = costs[from]
	}
}

// Older is the line of an older version: on which day of the zone it was written, and what it says otherwise.
func Older(c, newest *candidate.Candidate, zone *time.Location) string {
	return writeOlderStart(c, newest, zone) + strings.ReplaceAll(sanitiseText(c.Difference), "\n", " ")
}

// writeOlderStart begins the line of an older version.
func writeOlderStart(c, newest *candidate.Candidate, zone *time.Location) string {
	if c.CreatedAt.IsZero() || Day(c.CreatedAt, zone) == Day(newest.CreatedAt, zone) {
		return "also: "
	}
	return Day(c.CreatedAt, zone) + ": "
}

// Day is the day of a time in a zone, 2 January 2006.
func Day(t time.Time, zone *time.Location) string {
	return t.In(cmp.Or(zone, time.UTC)).Format("2 January 2006")
}

// mostAlso is how many days an item names on which the same was written.
const mostAlso = 3

// Also says on which other days the same was written, "" where there is none.
func Also(c *candidate.Candidate, zone *time.Location) string {
	var days []string
	for _, at := range slices.SortedFunc(slices.Values(c.Also), time.Time.Compare) {
		if day := Day(at, zone); !at.IsZero() && day != Day(c.CreatedAt, zone) && !slices.Contains(days, day) {
			days = append(days, day)
		}
	}
	switch n := len(days); {
	case n == 0:
		return ""
	case n > mostAlso:
		return " " + alsoSince.formatRemark(strconv.Itoa(n), days[0])
	}
	return " " + alsoOn.formatRemark(strings.Join(days, ", "))
}
