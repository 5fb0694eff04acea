package jetstream

import "testing"

// An answer must not land where it would be taken for an event, a request or a command.
func TestRepliesStayOutOfStreams(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{"_SATCHEL.v1.as.a.ctx.v1.main.request", "prov.v1.a.memory.x", "mem.v1.a.evt.x", "dlq.v1.a.x", "ctx.v1.a.request", "log.v1.a.head", "$JS.API.STREAM.PURGE.DLQ", "p.1.x"} {
		if got := replySubject(reply); got != "" {
			t.Errorf("a reply may go to %q", got)
		}
	}
	for _, reply := range []string{"_INBOX.abc.1", "answers.mine", ""} {
		if got := replySubject(reply); got != reply {
			t.Errorf("a reply to %q goes to %q", reply, got)
		}
	}
}
