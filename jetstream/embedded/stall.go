package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"satchel/schemas"
)

// ErrStalled is wrapped by [Server.Err] while a stream takes nothing because a write of it
// failed. The server answers no publish to such a stream until it is started anew.
var ErrStalled = errors.New("what is published is not taken")

// room is the free disk, in bytes, without which a server that ran out of it is not started
// anew.
const room = 16 << 20

// roomFile is written to find out whether there is room, and removed.
const roomFile = ".room"

// How often the streams are looked at, and how long it takes at least from one start of the
// server to the next: the pause doubles while starts follow each other.
const (
	lookEvery  = 250 * time.Millisecond
	leastPause = time.Second
	mostPause  = time.Minute
)

// How long the server may take to say how its streams are, and to end. One whose stream waits
// for a lock for ever (as it may after a write of it failed) does neither, and only a new
// process helps.
const (
	lookLimit = 10 * time.Second
	endLimit  = 30 * time.Second
)

// writeFailure is why a stream takes nothing.
type writeFailure struct {
	what  string // the stream, or the server
	cause string
	full  bool // there was no room: the server is started anew when there is
	again bool // it was, and did not start: it is tried again
}

// Error says what to do.
func (s *writeFailure) Error() string {
	do := "see the log, mend the disk and restart Satchel"
	switch {
	case s.full:
		do = fmt.Sprintf("free %d MiB or more on the disk of the data folder, then it goes on by itself", room>>20)
	case s.again:
		do = "it is tried again"
	}
	return fmt.Sprintf("%v: %s: %s; %s", ErrStalled, s.what, s.cause, do)
}

// Unwrap makes it an ErrStalled and, for who published, a refusal.
func (s *writeFailure) Unwrap() []error {
	message := "the disk of the streams fails, and nothing is taken until an operator restarts Satchel; see satchel doctor"
	if s.full || s.again {
		message = "the disk of the streams is or was full, and nothing is taken until there is room; send it again later"
	}
	return []error{ErrStalled, &schemas.Error{Code: schemas.CodeStorage, Message: message}}
}

// findWriteFailure finds what takes nothing in what the server says of its health, nil for nothing.
func findWriteFailure(h *server.HealthStatus) *writeFailure {
	var found *writeFailure
	for _, e := range h.Errors {
		switch _, cause, failed := strings.Cut(e.Error, " write error: "); {
		case e.Type == server.HealthzErrorStream && failed:
			s := &writeFailure{what: "stream " + e.Stream, cause: cause[strings.LastIndex(cause, ": ")+1:], full: isFull(cause)}
			s.cause = strings.TrimSpace(s.cause)
			if found == nil || found.full && !s.full { // what does not pass by itself is said first
				found = s
			}
		case e.Type == server.HealthzErrorJetStream:
			return &writeFailure{what: "JetStream", cause: e.Error}
		}
	}
	return found
}

// isFull reports whether a write failed because there was no room. The server hands on text
// only.
func isFull(cause string) bool {
	return slices.ContainsFunc([]string{"no space left", "quota exceeded", "not enough space"}, func(text string) bool { return strings.Contains(cause, text) })
}

// hasRoom reports whether as many bytes as room can be written to dir.
func hasRoom(dir string) bool {
	path := filepath.Join(dir, roomFile)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return false
	}
	piece := make([]byte, 1<<20)
	_, err = rand.Read(piece) // what is all zero, or repeats within a block, may take no room
	for written := 0; err == nil && written < room; written += len(piece) {
		_, err = f.Write(piece)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Remove(path)) == nil
}

// Err returns an ErrStalled that says why a stream takes nothing and what to do, nil while
// all do. It may be half a second late.
func (s *Server) Err() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.writeFailure == nil {
		return nil
	}
	return s.writeFailure
}

// Guard returns a context that ends with ctx and, with [Server.Err] as its cause, when a
// stream takes nothing: a publish would wait for ever. Beside ErrStalled the cause is a
// *schemas.Error for who published.
func (s *Server) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	guarded, cancel := context.WithCancelCause(ctx)
	s.mu.RLock()
	why := s.writeFailure
	stalls := s.stalls
	s.mu.RUnlock()
	if why != nil {
		cancel(why)
		return guarded, func() {}
	}
	go func() {
		select {
		case <-stalls:
			why := s.Err()
			if why == nil { // over already
				why = ErrStalled
			}
			cancel(why)
		case <-guarded.Done():
		}
	}()
	return guarded, func() { cancel(context.Canceled) }
}

// noteWriteFailure keeps why a stream takes nothing, or that all do.
func (s *Server) noteWriteFailure(why *writeFailure) {
	s.mu.Lock()
	before := s.writeFailure
	s.writeFailure = why
	switch {
	case before == nil && why != nil:
		close(s.stalls)
	case before != nil && why == nil:
		s.stalls = make(chan struct{})
	}
	s.mu.Unlock()
	switch {
	case why != nil && (before == nil || *before != *why):
		s.cfg.Log.Error("nats-server stalls", "cause", why)
	case why == nil && before != nil:
		s.cfg.Log.Info("nats-server takes what is published again")
	}
}

// watchStreams looks at the streams until quit is closed. When one takes nothing because the disk was
// full, and it is not any more, the server is started anew: it reads what is on the disk, as
// after a crash. What it acknowledged is there, what it did not may be.
func (s *Server) watchStreams() {
	defer close(s.watched)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var last, next time.Time
	pause := leastPause
	for {
		select {
		case <-s.quit:
			return
		case <-tick.C:
		}
		why := s.lookForStall()
		select {
		case <-s.quit: // it was not waited for: nothing is known
			return
		default:
		}
		if why == nil {
			s.stuck.Store(false)
		}
		s.noteWriteFailure(why)
		now := time.Now()
		if why == nil || !why.full && !why.again || now.Before(next) {
			continue
		}
		next = now.Add(leastPause)
		if !hasRoom(s.dir) {
			continue
		}
		if now.Sub(last) > 2*mostPause {
			pause = leastPause
		}
		s.restartServer()
		last = time.Now()
		next = last.Add(pause)
		pause = min(2*pause, mostPause)
	}
}

// lookForStall returns why a stream takes nothing, nil for no reason.
func (s *Server) lookForStall() *writeFailure {
	if s.refused != "" {
		return &writeFailure{what: "nats-server did not start again", cause: s.refused, again: true}
	}
	if s.asked == nil {
		s.asked = make(chan *writeFailure, 1)
		go func(srv *server.Server, answer chan<- *writeFailure) {
			answer <- findWriteFailure(srv.Healthz(&server.HealthzOptions{Details: true}))
		}(s.findCurrentServer(), s.asked)
	}
	limit := time.NewTimer(lookLimit)
	defer limit.Stop()
	select {
	case why := <-s.asked:
		s.asked = nil
		return why
	case <-s.quit:
	case <-limit.C:
		s.stuck.Store(true)
		return &writeFailure{what: "nats-server", cause: "it does not answer"}
	}
	return nil
}

// restartServer starts the server anew, at the same port. When it refuses, look says so; when the
// old one does not end, look has nobody who answers.
func (s *Server) restartServer() {
	s.cfg.Log.Warn("there is room on the disk again: nats-server is started anew")
	if s.refused == "" && !endServer(s.findCurrentServer(), endLimit) {
		s.stuck.Store(true)
		s.asked = make(chan *writeFailure)
		return
	}
	s.refused = ""
	srv, err := startServer(s.cfg, s.dir)
	if err != nil {
		s.refused = err.Error()
		return
	}
	s.mu.Lock()
	s.server = srv
	s.mu.Unlock()
}

// endServer shuts a server down and reports whether it ended in time.
func endServer(srv *server.Server, limit time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		srv.Shutdown()
		srv.WaitForShutdown()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
