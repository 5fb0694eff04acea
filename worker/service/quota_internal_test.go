package service

import (
	"errors"
	"testing"
	"time"

	"satchel/schemas"
)

// TestPutsAreMetered: a principal puts so many events and bytes a minute, and is told when to try
// again; others are not held up.
func TestPutsAreMetered(t *testing.T) {
	t.Parallel()
	m := newMeters(Quota{Events: 60, Bytes: 6000})
	now := time.Unix(1e9, 0)
	refused := func(principal string, bytes int) int {
		t.Helper()
		err := m.admitEvent(now, "acme", principal, bytes)
		var typed *schemas.Error
		switch {
		case err == nil:
			return 0
		case !errors.As(err, &typed) || typed.Code != schemas.CodeOverloaded || typed.RetryAfter < 1:
			t.Fatalf("refused with %v", err)
		}
		return typed.RetryAfter
	}
	for i := range 60 {
		if refused("flood", 10) != 0 {
			t.Fatalf("event %d is refused", i)
		}
	}
	if after := refused("flood", 10); after > 2 {
		t.Errorf("the next event has to wait for %d s", after)
	}
	if refused("agent", 6000) != 0 {
		t.Error("another principal is refused")
	}
	if after := refused("agent", 3000); after < 25 || after > 35 {
		t.Errorf("half of a minute's bytes have to wait for %d s", after)
	}
	now = now.Add(31 * time.Second)
	if refused("agent", 3000) != 0 || refused("flood", 10) != 0 {
		t.Error("what was refused is so half a minute later")
	}
	if err := newMeters(Quota{}).admitEvent(now, "acme", "agent", 1<<30); err != nil {
		t.Errorf("without a quota: %v", err)
	}
}
