package eventlog_test

import (
	"testing"

	"satchel/pipeline/store/eventlog"
)

func TestPositionsRoundTrip(t *testing.T) {
	t.Parallel()
	if got := eventlog.SplitPositions(eventlog.JoinPositions([]int64{3, 17, 9007199254740993})); len(got) != 3 || got[2] != 9007199254740993 {
		t.Errorf("positions = %v", got)
	}
	if got := eventlog.SplitPositions(""); got == nil || len(got) != 0 {
		t.Errorf("no positions = %#v", got)
	}
}
