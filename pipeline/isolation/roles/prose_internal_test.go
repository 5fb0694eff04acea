package roles

import (
	"testing"

	"satchel/schemas"
)

func TestWrappedLinesAreOneSentence(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		kind       schemas.Kind
		text, want string
	}{
		{schemas.KindCommit, "Fire at night\nThe kiln is fired at\nnight because wood is\ncheaper.\n- an entry\n- another", "Fire at night\nThe kiln is fired at night because wood is cheaper.\n- an entry\n- another"},
		{schemas.KindCode, "\t// Fire heats the kiln\n\t// until the glaze melts.\n\tMax = 3\n\tx := 1", "\t// Fire heats the kiln       until the glaze melts.\n\tMax = 3\n\tx := 1"},
		{schemas.KindMemory, "one\ntwo", "one\ntwo"},
	} {
		got := unwrapped(x.kind, x.text)
		if len(got) != len(x.text) {
			t.Errorf("%q has %d bytes, was %d", got, len(got), len(x.text))
		}
		if x.kind != schemas.KindCode && got != x.want || onOneLine(got) != onOneLine(x.want) {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
	for text, want := range map[string]bool{"const QueueNumWorkersMax = 10_000": true, "notificationPollIntervalDefault = 50 * time.Millisecond": true,
		"config.Queues = map[string]Queue{}": false, "if err != nil {": false, "return x == y": false, "// Fire heats the kiln until the glaze melts.": true} {
		if got := answers(schemas.KindCode, text, false); got != want {
			t.Errorf("answers(%q) = %v", text, got)
		}
	}
}
