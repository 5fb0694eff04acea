package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"satchel/pipeline/isolation"
	"satchel/schemas"
)

type exposing struct{ handles *isolation.Sealer }

// fields builds the reply of each shown candidate field by field, from a list of fields that may leave.
func (e *exposing) fields(ctx context.Context, rec *Recorder, req Request, ranked Ranked, packed Packed) ([]isolation.Exposed, error) {
	o := isolation.Options{
		Scores: req.Options.IncludeScores, Query: begins(req.Query, schemas.MaxName), Reranker: ranked.Reranker, Filters: filterNames(req.Options.Query.Filters),
	}
	return staged(ctx, rec, "isolate", func(context.Context) ([]isolation.Exposed, error) {
		out := make([]isolation.Exposed, len(packed.Shown))
		for n, i := range packed.Shown {
			c := &ranked.Candidates[i]
			var err error
			if out[n], err = isolation.Expose(c, o); err != nil {
				return nil, fmt.Errorf("isolate pack: %w", err)
			}
			if e.handles == nil {
				continue
			}
			if out[n].Result.Metadata.Artifact, err = isolation.Sandbox(c, req.Scope, e.handles); err != nil {
				return nil, fmt.Errorf("isolate pack: %w", err)
			}
		}
		return out, nil
	})
}

// begins is the beginning of a text, of so many characters.
func begins(text string, characters int) string {
	for at := range text {
		characters--
		if characters < 0 {
			return text[:at]
		}
	}
	return text
}

// filterNames returns the operators of a request's filters, by field. Their values may be
// content, so they are left out.
func filterNames(filters map[string]any) map[string]string {
	out := make(map[string]string, len(filters))
	for name, v := range filters {
		out[name] = "eq"
		if ops, ok := v.(map[string]any); ok {
			out[name] = strings.Join(slices.Sorted(maps.Keys(ops)), ",")
		}
	}
	return out
}
