package embedded

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"satchel/schemas"
)

const wait = 20 * time.Second

func TestStalled(t *testing.T) {
	t.Parallel()
	stream := func(name, text string) server.HealthzError {
		return server.HealthzError{Type: server.HealthzErrorStream, Stream: name, Error: "JetStream stream '$G > " + name + "' " + text}
	}
	full := stream("MEMORY", "write error: write /data/streams/1.blk: no space left on device")
	broken := stream("LEDGER", "write error: write /data/streams/1.blk: input/output error")
	for name, c := range map[string]struct {
		errors []server.HealthzError
		says   string // "" for no stall
		full   bool
	}{
		"well":       {},
		"full":       {[]server.HealthzError{full}, "stream MEMORY: no space left on device; free 16 MiB", true},
		"quota":      {[]server.HealthzError{stream("DLQ", "write error: disk quota exceeded")}, "stream DLQ: disk quota exceeded; free 16 MiB", true},
		"broken":     {[]server.HealthzError{broken}, "stream LEDGER: input/output error; see the log, mend the disk and restart", false},
		"both":       {[]server.HealthzError{full, broken}, "stream LEDGER: input/output error; see the log", false},
		"disabled":   {[]server.HealthzError{{Type: server.HealthzErrorJetStream, Error: "JetStream is not enabled"}}, "JetStream: JetStream is not enabled; see the log", false},
		"other ills": {[]server.HealthzError{stream("KV_x", "could not be recovered"), {Type: server.HealthzErrorConn, Error: "not ready"}}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := findWriteFailure(&server.HealthStatus{Errors: c.errors})
			if (got == nil) != (c.says == "") || got != nil && got.full != c.full {
				t.Fatalf("stalled = %+v", got)
			}
			if got != nil && (!strings.Contains(got.Error(), c.says) || strings.Contains(got.Error(), "/data")) {
				t.Errorf("it says %q, want %q and no path", got, c.says)
			}
		})
	}
}

func begin(t *testing.T, cfg Config) *Server {
	t.Helper()
	cfg.Dir = t.TempDir()
	s, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A server whose JetStream has gone says so, ends what waits and refuses what comes.
func TestGuard(t *testing.T) {
	t.Parallel()
	s := begin(t, Config{NoListen: true})
	waiting, done := s.Guard(t.Context())
	defer done()
	if err := s.Err(); err != nil {
		t.Fatalf("Err = %v of a server that is well", err)
	}
	if err := s.findCurrentServer().ShutdownJetStream(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-waiting.Done():
	case <-time.After(wait):
		t.Fatal("what waits goes on waiting")
	}
	late, done := s.Guard(t.Context())
	defer done()
	for name, err := range map[string]error{"what waited": context.Cause(waiting), "what came later": context.Cause(late), "Err": s.Err()} {
		var refusal *schemas.Error
		if !errors.Is(err, ErrStalled) || !errors.As(err, &refusal) || refusal.Code != schemas.CodeStorage {
			t.Errorf("%s ends with %v, want ErrStalled and a storage_error", name, err)
		}
	}
}

// A server that starts anew has what it acknowledged, at the same address, and connections
// come back to it.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := begin(t, Config{Port: RandomPort})
	close(s.quit) // this test decides when
	<-s.watched
	s.quit = nil
	url, ctx := s.ClientURL(), t.Context()
	satchel, err := nats.Connect("", s.InProcess(), nats.ReconnectWait(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer satchel.Close()
	client, err := nats.Connect(url, nats.ReconnectWait(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	js, err := jetstream.New(satchel)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "MEMORY", Subjects: []string{"mem.v1.>"}}); err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); seq <= 3; seq++ {
		back := []chan nats.Status{satchel.StatusChanged(nats.CONNECTED), client.StatusChanged(nats.CONNECTED), s.proxy.StatusChanged(nats.CONNECTED)}
		ack, err := js.Publish(ctx, "mem.v1.main.evt.a", nil, jetstream.WithExpectLastSequence(seq-1))
		if err != nil || ack.Sequence != seq {
			t.Fatalf("publish %d: %+v, %v", seq, ack, err)
		}
		s.restartServer()
		if why := s.lookForStall(); why != nil {
			t.Fatalf("after restart %d: %v", seq, why)
		}
		for _, status := range back {
			select {
			case <-status:
			case <-time.After(wait):
				t.Fatal("a connection does not come back")
			}
		}
	}
	if err := s.proxy.FlushTimeout(wait); err != nil {
		t.Fatal(err)
	}
	if reply, err := client.Request("$JS.API.INFO", nil, wait); err != nil || s.ClientURL() != url || !s.SyncAlways() {
		t.Errorf("a client at %s hears %v, %v; syncs %v", s.ClientURL(), reply, err, s.SyncAlways())
	}
}

// A server that does not answer is no server that is well, and is asked once.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Server{asked: make(chan *writeFailure, 1), quit: make(chan struct{})}
		for range 2 {
			if why := s.lookForStall(); why == nil || why.full || !strings.Contains(why.Error(), "nats-server: it does not answer; see the log, mend the disk and restart") {
				t.Fatalf("look = %v", why)
			}
		}
		s.asked <- nil
		if why := s.lookForStall(); why != nil || s.asked != nil {
			t.Errorf("it has answered, and look = %v", why)
		}
	})
}

// The end of a server that does not answer takes nothing back: who stops it must not wait.
func TestEndOfOneThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Server{asked: make(chan *writeFailure, 1), quit: make(chan struct{}), watched: make(chan struct{})}
		s.cfg.Log = slog.New(slog.DiscardHandler)
		s.stalls = make(chan struct{})
		go s.watchStreams()
		time.Sleep(2 * lookLimit) // of the bubble
		if !s.stuck.Load() || s.Err() == nil {
			t.Fatalf("not noticed: %v", s.Err())
		}
		close(s.quit)
		<-s.watched
		if !s.stuck.Load() || s.Err() == nil {
			t.Error("it counts as well at its end")
		}
	})
}

func TestHasRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if !hasRoom(dir) {
		t.Error("there is none where there is")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if hasRoom(dir + "/gone") {
		t.Error("there is some where nothing is")
	}
}
