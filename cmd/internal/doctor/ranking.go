package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/client"
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
	f := app.Finding{Check: "ranking"}
	r, err := a.Rankings()
	if err != nil {
		f.Detail = err.Error()
		return f
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
	f.OK = a.MinScore <= highScore
	f.Detail = fmt.Sprintf("profile %s, weights sum to 1 (%s), min_score %g", a.Profile, strings.Join(weights, ", "), a.MinScore)
	if !f.OK {
		f.Detail += ": few items reach that, so requests find next to nothing"
	}
	for _, note := range r.Notes {
		f.Detail += "; " + note
	}
	return f
}

// checkBudgets says what a request is given at most.
func checkBudgets(a *app.App) app.Finding {
	f := app.Finding{Check: "budgets", OK: true, Detail: fmt.Sprintf("at most %d bytes, %d tokens, %d items a request", a.MaxBytes, a.MaxTokens, a.MaxItems)}
	if a.MaxBytes > 0 && a.MaxBytes < fewBytes || a.MaxTokens > 0 && a.MaxTokens < fewTokens {
		f.OK, f.Detail = false, f.Detail+": too few for a handful of items, so most of what is found is dropped"
	}
	return f
}

// checkDecisionCache says whether a policy server is asked again for what it just said.
func checkDecisionCache(a *app.App) app.Finding {
	f := app.Finding{Check: "decision cache", OK: true}
	switch {
	case a.OPAURL == "":
		f.Detail = "in the process, dropped when the bundle changes"
	case a.OPACache <= 0:
		f.OK, f.Detail = false, "SCS_OPA_CACHE_TTL_MS is 0: every request waits for the OPA server"
	default:
		f.Detail = fmt.Sprintf("verdicts of the OPA server are kept for %d ms", a.OPACache)
	}
	return f
}

// preview asks for one also where nothing was recorded yet.
func preview(ctx context.Context, a *app.App, req schemas.BuildRequest, out *schemas.PreviewReply) error {
	conn, err := client.Dial(ctx, a)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Context(ctx, "preview", req, out)
}

// checkAnswer asks a running Satchel what it would show, by a preview, which leaves
// nothing in the log: that retrieval finds something, that policy lets something
// through, and how long it takes.
func checkAnswer(ctx context.Context, a *app.App, running bool) app.Finding {
	f := app.Finding{Check: "an answer", OK: true}
	if !running {
		f.Idle, f.Detail = true, "not asked: Satchel does not run"
		return f
	}
	start := time.Now()
	var out schemas.PreviewReply
	req := schemas.BuildRequest{SearchRequest: schemas.SearchRequest{
		From: &schemas.Agent{Type: "user", ID: "doctor", SecurityLevel: "internal"}, Query: "what is known here?", Limit: 20}}
	if err := preview(ctx, a, req, &out); err != nil {
		f.OK, f.Detail = false, "a plain question gets none: "+err.Error()
		return f
	}
	took := time.Since(start)
	f.Detail = fmt.Sprintf("a plain question of clearance internal is ranked over %s in %.0f ms", terminal.Plural(len(out.RankingScores), "item", "items"), float64(took)/1e6)
	if len(out.RankingScores) == 0 {
		f.Detail += "; nothing resembles it, policy lets that clearance see nothing, or the tenant " + a.Tenant + " is empty"
	}
	if took > slowAnswer {
		f.Detail += fmt.Sprintf(": more than %d ms; satchel ask --json shows the time of each stage in explainability.timings", slowAnswer.Milliseconds())
	}
	return f
}
