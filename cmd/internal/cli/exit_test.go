package cli

import (
	"fmt"
	"strings"
	"testing"

	"satchel/cmd/internal/command"
	"satchel/schemas"
)

func TestForgetOfNothing(t *testing.T) {
	t.Parallel()
	c := command.Forget{IDs: []string{"note-x"}}
	for _, refused := range []*schemas.Error{{Code: command.UnknownItem}, {Code: schemas.CodeValidation, Message: "the event became a dead letter: unknown_item"}} {
		var errOut strings.Builder
		p := Program{Name: "satchel"}
		code := p.report(&errOut, c.Explain(fmt.Errorf("request: %w", refused)))
		if code != ExitUsage || errOut.String() != "satchel: note-x: no such item, nothing was erased\n" {
			t.Errorf("exit code %d, %s", code, errOut.String())
		}
	}
}
