package opa

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"satchel/policies"
	"satchel/schemas"
)

// parseVerdicts reads n verdicts; anything else than n well-formed ones is an error.
func parseVerdicts(answer *ast.Term, n int) ([]policies.Verdict, error) {
	if answer == nil {
		return nil, errors.New("verdicts are undefined")
	}
	list, ok := answer.Value.(*ast.Array)
	if !ok || list.Len() != n {
		return nil, fmt.Errorf("verdicts are not an array of %d", n)
	}
	verdicts := make([]policies.Verdict, n)
	for i := range n {
		pair, ok := list.Elem(i).Value.(*ast.Array)
		if !ok || pair.Len() != 2 && pair.Len() != 3 {
			return nil, fmt.Errorf("verdict %d is neither [reason, redactions] nor [reason, redactions, obligations]", i)
		}
		reason, ok := pair.Elem(0).Value.(ast.String)
		if !ok || !policies.ValidReason(string(reason)) {
			return nil, fmt.Errorf("verdict %d has no snake_case reason", i)
		}
		redact, err := parseNames(pair.Elem(1))
		if err != nil {
			return nil, fmt.Errorf("redactions of verdict %d: %w", i, err)
		}
		if slices.ContainsFunc(redact, func(path string) bool { return !strings.HasPrefix(path, "$") }) {
			return nil, fmt.Errorf("redactions of verdict %d: not a JSON path", i)
		}
		verdicts[i].Reason = string(reason)
		verdicts[i].Allow = reason == policies.ReasonAllowed
		if verdicts[i].Allow && len(redact) > 0 {
			verdicts[i].Redact = redact
		}
		if pair.Len() == 3 {
			o, err := parseObligations(pair.Elem(2))
			if err != nil {
				return nil, fmt.Errorf("verdict %d: %w", i, err)
			}
			if verdicts[i].Allow {
				verdicts[i].Obligations = o
			}
		}
	}
	return verdicts, nil
}

func parseObligations(t *ast.Term) (schemas.Obligations, error) {
	value, err := ast.JSON(t.Value)
	if err != nil {
		return schemas.Obligations{}, fmt.Errorf("read obligations: %w", err)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return schemas.Obligations{}, fmt.Errorf("read obligations: %w", err)
	}
	return policies.ReadObligations(raw)
}

// parseNames reads an array or a set of strings.
func parseNames(t *ast.Term) ([]string, error) {
	var names []string
	bad := false
	add := func(e *ast.Term) {
		name, ok := e.Value.(ast.String)
		bad = bad || !ok
		names = append(names, string(name))
	}
	switch v := t.Value.(type) {
	case *ast.Array:
		v.Foreach(add)
	case ast.Set:
		v.Foreach(add)
	default:
		bad = true
	}
	if bad {
		return nil, errors.New("not a list of strings")
	}
	return names, nil
}

func parseFilter(answer *ast.Term) (schemas.Filter, error) {
	none := schemas.MatchNone()
	if answer == nil {
		return none, errors.New("filter is undefined")
	}
	value, err := ast.JSON(answer.Value)
	if err != nil {
		return none, fmt.Errorf("read filter: %w", err)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return none, fmt.Errorf("read filter: %w", err)
	}
	return policies.ReadFilter(raw)
}
