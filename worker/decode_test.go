package worker_test

import (
	"errors"
	"strings"
	"testing"

	"satchel/schemas"
)

// The envelope may hold what others put there; the payload may not, nor a name twice or
// in another case.
func TestRequestsAreReadStrictly(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	w.start(t)
	w.put(t, recorded(t, "a", "one"), "indexed")
	const good = `{"meta":{"type":"ContextRequest","trace":"x","from":{"id":"reader","team":"y"}},"payload":{"query":{"text":"q"}}}`
	if _, err := w.worker.Service.Request(within(t), "acme", []byte(good)); err != nil {
		t.Errorf("an envelope with more in it is refused: %v", err)
	}
	for name, body := range map[string]string{
		"unknown in payload": strings.Replace(good, `"query"`, `"quest":1,"query"`, 1),
		"id twice":           strings.Replace(good, `"id":"reader"`, `"id":"reader","id":"boss"`, 1),
		"another case":       strings.Replace(good, `"id":"reader"`, `"id":"reader","ID":"boss"`, 1),
		"more behind":        good + `{}`,
	} {
		_, err := w.worker.Service.Request(within(t), "acme", []byte(body))
		var e *schemas.Error
		if !errors.As(err, &e) || e.Code != schemas.CodeValidation {
			t.Errorf("%s: %v", name, err)
		}
	}
}
