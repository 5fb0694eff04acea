package opaembed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"satchel/policies"
	"satchel/schemas"
)

// allowed is the one reason that allows.
const allowed = "allowed"

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
		if !ok || pair.Len() != 2 {
			return nil, fmt.Errorf("verdict %d is not [reason, redactions]", i)
		}
		reason, ok := pair.Elem(0).Value.(ast.String)
		if !ok || !snakeCase(string(reason)) {
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
		if verdicts[i].Allow = reason == allowed; verdicts[i].Allow && len(redact) > 0 {
			verdicts[i].Redact = redact
		}
	}
	return verdicts, nil
}

func snakeCase(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 64
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

// pushdown is the wire form of a filter. A filter that says nothing is no filter: what
// matches all has to say so.
type pushdown struct {
	Match      string      `json:"match"`
	Conditions []condition `json:"conditions"`
}

type condition struct {
	Field  schemas.Field `json:"field"`
	Op     schemas.Op    `json:"op"`
	Values []string      `json:"values"` // nil when absent
	Number *float64      `json:"number"`
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
	return readFilter(raw)
}

func readFilter(raw []byte) (schemas.Filter, error) {
	none := schemas.MatchNone()
	var p pushdown
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return none, fmt.Errorf("read filter: %w", err)
	}
	switch {
	case p.Match == "none" && len(p.Conditions) == 0:
		return none, nil
	case p.Match == "all" && len(p.Conditions) == 0:
		return schemas.MatchAll(), nil
	case p.Match != "where" || len(p.Conditions) == 0:
		return none, fmt.Errorf("filter matches %q with %d conditions", p.Match, len(p.Conditions))
	}
	conds := make([]schemas.Cond, len(p.Conditions))
	for i, c := range p.Conditions {
		if err := c.check(); err != nil {
			return none, fmt.Errorf("filter condition %d: %w", i, err)
		}
		conds[i] = schemas.Cond{Field: c.Field, Op: c.Op, Values: c.Values}
		if c.Number != nil {
			conds[i].Number = *c.Number
		}
	}
	return schemas.Where(conds...), nil
}

func (c *condition) check() error {
	numeric := false
	switch c.Field {
	case schemas.FieldLevel, schemas.FieldTrust, schemas.FieldSensitivity, schemas.FieldPII, schemas.FieldCredentials:
		numeric = true
	case schemas.FieldKind, schemas.FieldType, schemas.FieldCategory, schemas.FieldSession, schemas.FieldLabels,
		schemas.FieldGroups, schemas.FieldPurposes, schemas.FieldSigner:
	default:
		return fmt.Errorf("unknown field %q", c.Field)
	}
	switch c.Op {
	case schemas.AtMost, schemas.AtLeast:
		if !numeric || c.Number == nil || c.Values != nil {
			return fmt.Errorf("%q needs a numeric field and a number", c.Op)
		}
	case schemas.In, schemas.NotIn, schemas.EmptyOrIn:
		if numeric || c.Number != nil || c.Values == nil {
			return fmt.Errorf("%q needs a text or list field and values", c.Op)
		}
	default:
		return fmt.Errorf("unknown operator %q", c.Op)
	}
	return nil
}
