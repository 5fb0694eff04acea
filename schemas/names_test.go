package schemas_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"satchel/schemas"
)

func TestCheckNames(t *testing.T) {
	t.Parallel()
	wide := func(extra string) string {
		var b strings.Builder
		for i := range 100 {
			fmt.Fprintf(&b, `"n%d":{},`, i)
		}
		return "{" + b.String() + extra + "}"
	}
	nested := func(n int) string { return strings.Repeat(`{"a":[`, n) + strings.Repeat(`]}`, n) }
	for data, whole := range map[string]bool{
		`{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}],"A":5}`: true,
		` "a" `:                          true,
		`{"a":1,"a":1}`:                  false,
		`{"a":1,"\u0061":1}`:             false,
		`{"b":[{"c":{}},{"a":1,"a":2}]}`: false,
		`{"":1,"":2}`:                    false,
		wide(`"n":1`):                    true,
		wide(`"n7":1`):                   false,
		nested(schemas.MaxNesting / 2):   true,
		nested(schemas.MaxNesting):       false,
		nested(10000):                    false,
		`{} {}`:                          false,
		`{"a":`:                          false,
		``:                               false,
	} {
		if err := schemas.CheckNames([]byte(data)); (err == nil) != whole {
			t.Errorf("%.80s: error %v", data, err)
		}
	}
	for data, whole := range map[string]bool{`{"a":{"b":1}}`: true, `{"a":{"c":1}}`: false, `{"A":1}`: false, `[]`: true} {
		if err := schemas.CheckNames([]byte(data), "a", "b"); (err == nil) != whole {
			t.Errorf("%s with names: error %v", data, err)
		}
	}
}

// TestCheckNamesOfWhatIsWritten holds it to accept whatever encoding/json writes of maps.
func TestCheckNamesOfWhatIsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		leaf := rapid.MapOf(rapid.String(), rapid.String())
		data, err := json.Marshal(rapid.MapOf(rapid.String(), rapid.SliceOf(leaf)).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		if err := schemas.CheckNames(data); err != nil {
			t.Errorf("%s: %v", data, err)
		}
	})
}
