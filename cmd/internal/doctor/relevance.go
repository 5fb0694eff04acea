package doctor

import (
	"satchel/cmd/internal/app"
	"satchel/cmd/internal/terminal"
	"satchel/pipeline/relevance"
)

// checkRelevance says whether the relevance configuration can be used; satchel up starts
// without it, and leaves nothing out then.
func checkRelevance(a *app.App) app.Finding {
	const check = "relevance"
	if a.Relevance == "" {
		return reportPassed(check, "the built-in configuration")
	}
	g, err := relevance.Load(a.Relevance)
	if err != nil {
		return reportFailed(check, "%v; until it can be used everything is included", err)
	}
	return reportPassed(check, "%s: %s, %s", a.Relevance, terminal.Plural(len(g.Modes()), "mode", "modes"), terminal.Plural(len(g.Nodes()), "node", "nodes"))
}
