package pipeline

import (
	"context"
	"testing"

	"satchel/schemas"
)

// A store that fails because the caller's time is up has not failed.
func TestASpentDeadlineIsNoFaultOfAStore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	if got := Typed(ctx, StorageError("items could not be read")); got.Code != schemas.CodeStorage {
		t.Errorf("in time it is %s", got.Code)
	}
	cancel()
	if got := Typed(ctx, StorageError("items could not be read")); got.Code != schemas.CodeDeadlineExceeded {
		t.Errorf("out of time it is %s", got.Code)
	}
	if got := Typed(ctx, Invalid("/query", "must not be empty")); got.Code != schemas.CodeValidation {
		t.Errorf("a mistake of the client's is %s", got.Code)
	}
}
