package roles

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"satchel/schemas"
)

// Where an anomaly begins.
const (
	leastHistory = 4    // packs of a session before it has a habit
	creepHistory = 8    // contexts of a session before a creep means something
	creepLeast   = 200  // tokens of a context before a growth from it means something
	creepLimit   = 1.5  // times the tokens of its first packs
	overBudget   = 1.1  // times the budget
	dropLimit    = 0.5  // of its usual relevance
	floodLimit   = 200  // memories of one writer in a minute
	floodShare   = 0.8  // of all that were written then
	denyLimit    = 5    // refused or emptied requests in ten minutes
	rotShare     = 0.5  // of the candidates are duplicates, packs written back, stale or superseded
	rotRelevance = 0.75 // of its usual relevance while the tokens grow by creepLimit
	rotLeast     = 8    // candidates before a share means something
)

// guardRun looks at the run, its session, its principal and what it wrote. An auditor who asks
// without a pack sees every session and principal of the tenant, and every auditor all
// writers.
func (st *step) guardRun(ctx context.Context, reply *schemas.RoleReply) error {
	if st.req.PackID != "" {
		if err := st.ensurePackOpen(ctx); err != nil {
			return err
		}
	}
	t, err := st.anomalyMonitor.foldNewEntries(ctx, st.s)
	if err != nil {
		return &schemas.Error{Code: schemas.CodeStorage, Message: "the log could not be read"}
	}
	auditor := st.s.Principal().HasRole("auditor")
	names := []string{"principal:" + st.s.Principal().ID}
	if st.req.Session != "" {
		names = append(names, "session:"+st.req.Session)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if auditor && st.req.PackID == "" {
		names = slices.Sorted(maps.Keys(t.streams))
	}
	now := st.cfg.Clock()
	reply.Findings = []schemas.Finding{}
	for _, name := range names {
		if s := t.streams[name]; s != nil && (auditor || s.isOwnedBy(st.s.Principal().ID)) {
			reply.Findings = append(reply.Findings, s.findAnomalies(name, now, auditor)...)
		}
	}
	reply.Findings = append(reply.Findings, t.findFloods(now, st.s.Principal().ID, auditor)...)
	if !auditor {
		reply.Findings = withoutTwice(reply.Findings)
	}
	return nil
}

// isOwnedBy reports whether all of a session's packs are the principal's: of others it
// learns nothing.
func (s *stream) isOwnedBy(principal string) bool {
	return !slices.ContainsFunc(s.packs, func(p packTrace) bool { return p.principal != principal })
}

// withoutTwice keeps, of each anomaly that principal and session show alike, the
// session's.
func withoutTwice(list []schemas.Finding) []schemas.Finding {
	return slices.DeleteFunc(list, func(f schemas.Finding) bool {
		return strings.HasPrefix(f.Subject, "principal:") && slices.ContainsFunc(list, func(o schemas.Finding) bool {
			return o.Anomaly == f.Anomaly && strings.HasPrefix(o.Subject, "session:")
		})
	})
}

// findAnomalies are the anomalies of one session or principal. That policy emptied a request,
// an auditor alone is told: to the principal the question would have found nothing.
func (s *stream) findAnomalies(name string, now time.Time, auditor bool) []schemas.Finding {
	var out []schemas.Finding
	add := func(anomaly string, value, limit float64, detail string) {
		out = append(out, schemas.Finding{Anomaly: anomaly, Subject: name, Value: value, Limit: limit, Detail: detail})
	}
	denials := 0
	for _, d := range s.denials {
		if d.at.After(now.Add(-denyWindow)) && (auditor || !d.silent) {
			denials++
		}
	}
	if denials >= denyLimit {
		add(schemas.AnomalyRepeatedDenials, float64(denials), denyLimit, "requests that policy refused or emptied within ten minutes")
	}
	if len(s.packs) == 0 {
		return out
	}
	last := s.packs[len(s.packs)-1]
	if last.injections > 0 {
		add(schemas.AnomalyInjection, float64(last.injections), 1, "items left out of the last context as injected instructions")
	}
	if last.candidates >= rotLeast && float64(last.rotten) >= rotShare*float64(last.candidates) {
		add(schemas.AnomalyContextRot, float64(last.rotten)/float64(last.candidates), rotShare, "of the last context's candidates are duplicates, packs written back, stale or superseded")
	}
	if over := float64(last.tokens) / float64(max(last.budget, 1)); over > overBudget {
		add(schemas.AnomalyBudgetCreep, over, overBudget, "times the token budget")
	}
	before := s.packs[:len(s.packs)-1]
	if len(before) < leastHistory {
		return out
	}
	contexts := contextsOf(s.packs)
	growth, asked, climbed, kept := measureGrowth(s.packs, contexts)
	usual := findMedianRelevance(before)
	switch {
	case growth >= creepLimit && kept <= rotRelevance:
		add(schemas.AnomalyContextRot, growth, creepLimit, fmt.Sprintf("times the tokens, at %.0f %% of the usual relevance", 100*kept))
	case climbed >= creepLimit && kept <= rotRelevance: // what hardly answers gets little of a budget
		add(schemas.AnomalyContextRot, climbed, creepLimit, fmt.Sprintf("times the budget asked for, at %.0f %% of the usual relevance", 100*kept))
	case growth >= creepLimit*asked && len(contexts) >= creepHistory:
		add(schemas.AnomalyBudgetCreep, growth/asked, creepLimit, "times the tokens of the first contexts for the budget asked for, rising each time")
	}
	if !strings.HasPrefix(name, "session:") { // questions of no session may be about anything
		return out
	}
	if previous := before[len(before)-1]; usual > 0 && max(last.relevance, previous.relevance) <= dropLimit*usual { // one question may have no answer
		add(schemas.AnomalyRelevanceDrop, last.relevance/usual, dropLimit, "of the usual relevance")
	}
	return out
}

// contextsOf are the packs without those that have no tokens, such as those of searches, and those that show nothing.
func contextsOf(packs []packTrace) []packTrace {
	return slices.DeleteFunc(slices.Clone(packs), func(p packTrace) bool { return p.tokens == 0 || p.items == 0 })
}

// measureGrowth is how many times the first tokens the last ones are, when they never fell in
// between over the last contexts and the first has creepLeast; else 1. asked is how many times the first budget
// the last one is, 1 for a smaller one: who asks for more gets more. climbed is asked, when the budgets never
// fell in between; else 1. kept is the share of its usual relevance that the last context has.
func measureGrowth(packs, contexts []packTrace) (growth, asked, climbed, kept float64) {
	if packs[len(packs)-1].tokens == 0 || len(contexts) <= leastHistory {
		return 1, 1, 1, 1
	}
	recent := contexts[len(contexts)-leastHistory-1:]
	first := &recent[0]
	last := &recent[len(recent)-1]
	growth = float64(last.tokens) / float64(first.tokens)
	asked = max(1, float64(last.budget)/float64(max(1, first.budget)))
	kept = 1
	climbed = asked
	for i := 1; i < len(recent); i++ {
		if recent[i].tokens < recent[i-1].tokens || first.tokens < creepLeast {
			growth = 1
		}
		if recent[i].budget < recent[i-1].budget {
			climbed = 1
		}
	}
	if usual := findMedianRelevance(contexts[:len(contexts)-1]); usual > 0 {
		kept = last.relevance / usual
	}
	return growth, asked, climbed, kept
}

func findMedianRelevance(packs []packTrace) float64 {
	values := make([]float64, len(packs))
	for i := range packs {
		values[i] = packs[i].relevance
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// findFloods are the writers that wrote most of what was written in the last minute. An
// auditor is told of all, others of themselves.
func (t *tenantStats) findFloods(now time.Time, principal string, auditor bool) []schemas.Finding {
	by := map[string]int{}
	all := 0
	for _, w := range t.writes {
		if w.at.After(now.Add(-writeWindow)) {
			by[w.agent] += w.n
			all += w.n
		}
	}
	var out []schemas.Finding
	for agent, n := range by {
		if n < floodLimit || float64(n) < floodShare*float64(all) || !auditor && agent != principal {
			continue
		}
		out = append(out, schemas.Finding{Anomaly: schemas.AnomalyWriterFlood, Subject: "writer:" + agent, Value: float64(n), Limit: floodLimit, Detail: "memories of one writer within a minute"})
	}
	slices.SortFunc(out, func(a, b schemas.Finding) int { return cmp.Compare(b.Value, a.Value) })
	return out
}
