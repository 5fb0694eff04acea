package policies

import (
	"bytes"
	"encoding/json"
	"fmt"

	"satchel/schemas"
)

// The reasons that every policy shares. ReasonAllowed alone allows; ReasonError says
// that the decision point failed and comes with an error.
const (
	ReasonAllowed = "allowed"
	ReasonError   = "policy_error"
)

// Deny sets every verdict of d to a denial for ReasonError.
func (d *Decision) Deny() {
	for i := range d.Verdicts {
		d.Verdicts[i] = Verdict{Reason: ReasonError}
	}
}

// ValidReason reports whether s can be a verdict's reason: snake_case, at most 64 bytes.
func ValidReason(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 64
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

// ReadFilter reads a filter as a policy writes it:
//
//	{"match": "none"}, {"match": "all"} or
//	{"match": "where", "conditions": [{"field", "op", "values" | "number"}, …]}
//
// in the terms of schemas.Filter. Whatever else it is, is an error and the filter that
// matches nothing: unknown members, fields and operators, members in another spelling, and
// a member that is given twice.
func ReadFilter(raw []byte) (schemas.Filter, error) {
	none := schemas.MatchNone()
	var p pushdown
	if err := decodeStrict(raw, &p, "match", "conditions", "field", "op", "values", "number"); err != nil {
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
		if err := c.checkCondition(); err != nil {
			return none, fmt.Errorf("filter condition %d: %w", i, err)
		}
		conds[i] = schemas.Cond{Field: c.Field, Op: c.Op, Values: c.Values}
		if c.Number != nil {
			conds[i].Number = *c.Number
		}
	}
	return schemas.Where(conds...), nil
}

func (c *condition) checkCondition() error {
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

// ReadObligations reads what a policy demands of an item it allows. Nothing that is not
// understood passes for nothing demanded: an unknown member, action or type is an error, and
// so is a member that is given twice.
func ReadObligations(raw []byte) (schemas.Obligations, error) {
	var o schemas.Obligations
	if err := decodeStrict(raw, &o, "pii", "types", "summarise"); err != nil {
		return schemas.Obligations{}, fmt.Errorf("read obligations: %w", err)
	}
	switch {
	case o.PII != "" && o.PII != schemas.PIIRedact && o.PII != schemas.PIIPseudonymise:
		return schemas.Obligations{}, fmt.Errorf("read obligations: pii is neither %q nor %q", schemas.PIIRedact, schemas.PIIPseudonymise)
	case o.PII == "" && len(o.Types) > 0:
		return schemas.Obligations{}, fmt.Errorf("read obligations: types without pii")
	case o.Summarise < 0:
		return schemas.Obligations{}, fmt.Errorf("read obligations: summarise is negative")
	}
	return o, nil
}

// decodeStrict reads raw into v, whose members have the given names.
func decodeStrict(raw []byte, v any, names ...string) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return err
	}
	return schemas.CheckNames(raw, names...)
}
