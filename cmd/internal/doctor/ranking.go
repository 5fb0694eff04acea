package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/terminal"
	"satchel/schemas"
)

// Below these, or above, a setting leaves next to nothing of an answer.
const (
	highScore  = .9 // of H4R_MIN_SCORE: a relevance that few items reach
	fewTokens  = 200
	fewBytes   = 2000
	slowAnswer = 500 * time.Millisecond
)

// checkRanking says what requests are ranked by, and whether the weights hold.
func checkRanking(a *app.App) app.Finding {
	r, err := a.Rankings()
	if err != nil {
		return reportFailed("ranking", "%v", err)
	}
	var weights []string
	for _, p := range r.Profiles {
		if p.Name != a.Profile {
			continue
		}
		of := p.Trace().Weights
		for _, name := range slices.Sorted(maps.Keys(of)) {
			weights = append(weights, fmt.Sprintf("%s %.3g", name, of[name]))
		}
	}
	f := reportPassed("ranking", "profile %s, weights sum to 1 (%s), min_score %g", a.Profile, strings.Join(weights, ", "), a.MinScore)
	if a.MinScore > highScore {
		f.OK = false
		f.Detail = f.Detail + ": few items reach that, so requests find next to nothing"
	}
	for _, note := range r.Notes {
		f.Detail += "; " + note
	}
	return f
}

// checkBudgets says what a request is given at most.
func checkBudgets(a *app.App) app.Finding {
	items := "100 items, or in proportion to its tokens,"
	if a.MaxItems > 0 {
		items = fmt.Sprintf("%d items", a.MaxItems)
	}
	f := reportPassed("budgets", "at most %d bytes, %d tokens, %s a request", a.MaxBytes, a.MaxTokens, items)
	if a.MaxBytes > 0 && a.MaxBytes < fewBytes || a.MaxTokens > 0 && a.MaxTokens < fewTokens {
		f.OK = false
		f.Detail = f.Detail + ": too few for a handful of items, so most of what is found is dropped"
	}
	return f
}

// checkDecisionCache says whether a policy server is asked again for what it just said.
func checkDecisionCache(a *app.App) app.Finding {
	const check = "decision cache"
	switch {
	case a.OPAURL == "":
		return reportPassed(check, "in the process, dropped when the bundle changes")
	case a.OPACache <= 0:
		return reportFailed(check, "SCS_OPA_CACHE_TTL_MS is 0: every request waits for the OPA server")
	}
	return reportPassed(check, "verdicts of the OPA server are kept for %d ms", a.OPACache)
}

// checkAnswer asks a running Satchel what it would show, by the scores of a preview, which leaves
// nothing in the log: that policy and retrieval answer, and how long it takes. It does not
// ask a tenant without entries.
func checkAnswer(ctx context.Context, a *app.App, running bool) app.Finding {
	const check = "an answer"
	if !running {
		return reportIdle(check, "not asked: Satchel does not answer")
	}
	const question = "what is known here?"
	req := schemas.BuildRequest{SearchRequest: schemas.SearchRequest{
		From: &schemas.Agent{Type: "user", ID: "doctor", SecurityLevel: "internal"}, Query: question, Limit: 20}, ScoresOnly: true}
	out, took, err := preview(ctx, a, req)
	switch {
	case errors.Is(err, errNoEntries):
		return reportIdle(check, "not asked: nothing is stored for tenant "+a.Tenant+" yet")
	case err != nil:
		return reportFailed(check, "a plain question gets none: %v", err)
	}
	f := reportPassed(check, "the question %q of clearance internal was answered in %.0f ms", question, float64(took)/1e6)
	if n := len(out.RankingScores); n > 0 {
		f.Detail += ", from " + terminal.Plural(n, "item", "items")
	} else {
		f.Detail += ", without an item: none bears on it, or policy hides all from that clearance"
	}
	if took > slowAnswer {
		f.Detail += fmt.Sprintf("; that is more than %d ms: satchel ask --json shows the time of each stage in explainability.timings", slowAnswer.Milliseconds())
	}
	return f
}

// errNoEntries says that the log of the tenant has no entry.
var errNoEntries = errors.New("the log is empty")

// preview asks for a preview and measures how long that takes. It fails with errNoEntries where the log is empty.
func preview(ctx context.Context, a *app.App, req schemas.BuildRequest) (out schemas.PreviewReply, took time.Duration, err error) {
	conn, err := command.Dial(ctx, a)
	if err != nil {
		return out, 0, err
	}
	defer conn.Close()
	var head schemas.HeadReply
	if err := conn.LogCall(ctx, "head", struct{}{}, &head); err != nil {
		return out, 0, err
	}
	if head.Size == 0 {
		return out, 0, errNoEntries
	}
	start := time.Now()
	err = conn.Context(ctx, "preview", req, &out)
	return out, time.Since(start), err
}
