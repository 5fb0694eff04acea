package jetstream_test

import (
	"testing"
	"time"

	"satchel/jetstream"
)

// The backlog is what no appender has acknowledged, and its age that of the first of it.
func TestReadBacklog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := within(t, time.Minute)
	read := func() jetstream.Backlog {
		got, err := jetstream.ReadBacklog(ctx, b.js)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := read(); got != (jetstream.Backlog{}) {
		t.Errorf("of nothing: %+v", got)
	}
	before := time.Now().Add(-time.Second)
	for _, id := range []string{"1", "2", "3"} {
		b.publish(t, "acme", "a", sample(id))
	}
	i := b.inbox(t, "acme")
	got := read()
	if got.Pending != 3 || got.Oldest.Before(before) || got.Oldest.After(time.Now().Add(time.Second)) {
		t.Errorf("of three events: %+v", got)
	}
	all := fetch(t, i, 3)
	if now := read(); now != got {
		t.Errorf("fetched and not acknowledged: %+v, want %+v", now, got)
	}
	if !all[0].Published.Equal(got.Oldest) {
		t.Errorf("the first event came at %v, the backlog says %v", all[0].Published, got.Oldest)
	}
	if err := i.Ack(ctx, all[1].Seq); err != nil {
		t.Fatal(err)
	}
	if err := b.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); got.Pending != 1 || !got.Oldest.Equal(all[2].Published); got = read() {
		if time.Now().After(deadline) {
			t.Fatalf("after two were acknowledged: %+v", got)
		}
	}
}

// The sizes of the streams are the server's.
func TestReadStreams(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.publish(t, "acme", "a", sample("1"))
	list, err := jetstream.ReadStreams(within(t, time.Minute), b.js)
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, s := range list {
		if holds := s.Name == jetstream.MemoryStream; s.Limit <= 0 || (s.Messages == 1) != holds || (s.Bytes > 0) != holds {
			t.Errorf("%+v", s)
		}
	}
}
