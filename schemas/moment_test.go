package schemas_test

import (
	"strings"
	"testing"

	"satchel/schemas"
)

// looseTimes are times that package time takes, and RFC 3339 has not, and the one that stands for none.
var looseTimes = []string{"2026-03-03T10:00:00+24:00", "2026-03-03T10:00:00-24:00", "2026-03-03T10:00:00+05:60", "2026-03-03T1:00:00Z", "2026-03-03T10:00:00,5Z", "0001-01-01T00:00:00Z", "0000-12-31T23:00:00-01:00", "0001-01-01T10:00:00Z"}

// TestTimesAreThoseOfRFC3339: every field of a time refuses what RFC 3339 has not, such as a zone of a day, which
// could not be written again.
func TestTimesAreThoseOfRFC3339(t *testing.T) {
	t.Parallel()
	read := map[string]func(at string) []schemas.Issue{
		"created_at": func(at string) []schemas.Issue {
			_, i := schemas.DecodeMemoryItem(timedItem("created_at", at))
			return i
		},
		"updated_at": func(at string) []schemas.Issue {
			_, i := schemas.DecodeMemoryItem(timedItem("updated_at", at))
			return i
		},
		"valid_from": func(at string) []schemas.Issue {
			_, i := schemas.DecodeMemoryItem(timedItem("valid_from", at))
			return i
		},
		"valid_to": func(at string) []schemas.Issue { _, i := schemas.DecodeMemoryItem(timedItem("valid_to", at)); return i },
		"an unusual item": func(at string) []schemas.Issue { // which the quick reader does not take
			_, i := schemas.DecodeMemoryItem([]byte(strings.Replace(string(timedItem("valid_to", at)), `"id"`, `"\u0069d"`, 1)))
			return i
		},
		"date_from": func(at string) []schemas.Issue {
			_, i := schemas.Decode[schemas.SearchRequest]([]byte(`{"from":{"id":"a"},"query":"x","date_from":"` + at + `"}`))
			return i
		},
		"the time of an event": func(at string) []schemas.Issue {
			_, i := schemas.DecodePutRequest([]byte(`{"agent":"a","event":{"specversion":"1.0","id":"1","source":"s","type":"t","time":"` + at + `","data":{}}}`))
			return i
		},
		"now": func(at string) []schemas.Issue {
			_, i := schemas.DecodeContextRequest([]byte(`{"meta":{"type":"ContextRequest","from":{"id":"a"}},"payload":{"query":{"text":"x"},"now":"` + at + `"}}`))
			return i
		},
	}
	for field, issues := range read {
		for _, at := range []string{"2026-03-03T10:00:00Z", "2026-03-03T23:30:00.5+13:30", "2026-03-03T10:00:00-23:59"} {
			if found := issues(at); len(found) > 0 {
				t.Errorf("%s %s: %v", field, at, found)
			}
		}
		for _, at := range looseTimes {
			if len(issues(at)) == 0 {
				t.Errorf("%s takes %s", field, at)
			}
		}
	}
	for _, at := range looseTimes {
		if got, err := schemas.ParseTime(at); err == nil {
			t.Errorf("%s is read as %v", at, got)
		}
	}
}

func timedItem(field, at string) []byte {
	created := `"created_at":"2026-03-03T10:00:00Z",`
	if field == "created_at" {
		created = ""
	}
	return []byte(`{"id":"a","type":"semantic","kind":"memory","scope":{"tenant":"main"},` + created + `"` + field + `":"` + at + `","security_label":["level:public"],"content":"x"}`)
}
