package doctor

import (
	"fmt"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/terminal"
	"satchel/pipeline/relevance"
)

// checkRelevance says whether the relevance configuration can be used; satchel up starts
// without it, and leaves nothing out then.
func checkRelevance(a *app.App) app.Finding {
	f := app.Finding{Check: "relevance", OK: true, Detail: "the built-in configuration"}
	if a.Relevance == "" {
		return f
	}
	g, err := relevance.Load(a.Relevance)
	if err != nil {
		f.OK, f.Detail = false, err.Error()+"; until it can be used everything is included"
		return f
	}
	f.Detail = fmt.Sprintf("%s: %s, %s", a.Relevance, terminal.Plural(len(g.Modes()), "mode", "modes"), terminal.Plural(len(g.Nodes()), "node", "nodes"))
	return f
}
