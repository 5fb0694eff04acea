package command

import (
	"encoding/json"
	"fmt"
	"strings"

	"satchel/schemas"
)

// FilterFlags narrow what is looked for.
type FilterFlags struct {
	Filter []FilterFlag `help:"Only items whose field is this, as labels=project:apollo; the same field again for another value. JSON for a range or a number as text: trust={\"gte\":0.5}, session=\"42\"." placeholder:"FIELD=VALUE" sep:"none"`
}

// FilterFlag is a field of items and what it must be: a text, or JSON.
type FilterFlag struct {
	Field string
	Value any
}

// UnmarshalText reads what a flag says.
func (f *FilterFlag) UnmarshalText(text []byte) error {
	field, value, ok := strings.Cut(string(text), "=")
	if !ok || field == "" || value == "" {
		return fmt.Errorf("%q is no filter: write FIELD=VALUE, as labels=project:apollo", text)
	}
	f.Field = field
	var read schemas.Filters
	if json.Unmarshal([]byte(`{"value":`+value+`}`), &read) != nil || len(read) != 1 {
		f.Value = value
		return nil
	}
	f.Value = read["value"]
	return nil
}

// filters returns by field the value, or the list of the values.
func (f *FilterFlags) filters() map[string]any {
	out := map[string]any{}
	for _, one := range f.Filter {
		switch before := out[one.Field].(type) {
		case nil:
			out[one.Field] = one.Value
		case []any:
			out[one.Field] = append(before, one.Value)
		default:
			out[one.Field] = []any{before, one.Value}
		}
	}
	return out
}
