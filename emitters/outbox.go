package emitters

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"

	"satchel/pipeline/infra/files"
)

// Sentinels of the outbox.
var (
	ErrOutboxFull  = errors.New("outbox is full")                      // NATS is away and the outbox holds all it may
	ErrOutboxInUse = errors.New("outbox is in use by another emitter") // one folder, one emitter
	ErrQueued      = errors.New("the event waits in the outbox")       // what was asked for comes later
)

// outbox keeps events in one file, a structured-mode CloudEvent a line, synced before
// add returns, and locked while it is open. Events leave it in order; a crash in between
// publishes some again, which their ids make harmless.
type outbox struct {
	limit int

	mu    sync.Mutex
	file  *os.File
	end   int64 // of the last whole line
	count int
}

func openOutbox(dir string, limit int) (*outbox, error) {
	if limit <= 0 {
		limit = 10_000
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open outbox: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "outbox.jsonl"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open outbox: %w", err)
	}
	o := &outbox{limit: limit, file: f}
	if err := o.recoverFile(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("open outbox: %w", err), f.Close())
	}
	return o, nil
}

// recoverFile locks the file, counts what it holds and cuts off a torn last line, which was
// never acknowledged.
func (o *outbox) recoverFile(dir string) error {
	taken, err := files.TryLock(o.file)
	if err != nil {
		return err
	}
	if taken {
		return ErrOutboxInUse
	}
	events, end, err := o.readEvents()
	if err != nil {
		return err
	}
	o.count = len(events)
	o.end = end
	if err := o.file.Truncate(end); err != nil {
		return err
	}
	return files.SyncFolder(dir)
}

// readEvents returns the events and where the last whole line ends.
func (o *outbox) readEvents() ([]event.Event, int64, error) {
	if _, err := o.file.Seek(0, io.SeekStart); err != nil {
		return nil, 0, err
	}
	var events []event.Event
	var end int64
	r := bufio.NewReader(o.file)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return events, end, nil
		}
		if err != nil {
			return nil, 0, err
		}
		var ev event.Event
		if err := json.Unmarshal(bytes.TrimSpace(line), &ev); err != nil {
			return nil, 0, fmt.Errorf("line %d is damaged: %w", len(events)+1, err)
		}
		events = append(events, ev)
		end += int64(len(line))
	}
}

func (o *outbox) addEvents(events []event.Event) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.count+len(events) > o.limit {
		return fmt.Errorf("keep %d events: %w: it holds %d of %d", len(events), ErrOutboxFull, o.count, o.limit)
	}
	var buf bytes.Buffer
	for _, ev := range events {
		line, err := json.Marshal(ev)
		if err != nil {
			return fmt.Errorf("keep event: %w", err)
		}
		buf.Write(line)
		buf.WriteByte('\n')
	}
	_, err := o.file.WriteAt(buf.Bytes(), o.end)
	if err == nil {
		err = o.file.Sync()
	}
	if err != nil { // half a line must not stay before the next one
		return fmt.Errorf("keep events: %w", errors.Join(err, o.file.Truncate(o.end)))
	}
	o.end += int64(buf.Len())
	o.count += len(events)
	return nil
}

// Queued returns how many events wait in the outbox.
func (e *Emitter) Queued() int {
	if e.outbox == nil {
		return 0
	}
	e.outbox.mu.Lock()
	defer e.outbox.mu.Unlock()
	return e.outbox.count
}

// Flush publishes what waits in the outbox, in order. Every call that publishes does
// it first, and so does the emitter itself after a reconnect.
func (e *Emitter) Flush(ctx context.Context) error {
	o := e.outbox
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.count == 0 {
		return nil
	}
	events, _, err := o.readEvents()
	if err != nil {
		return fmt.Errorf("flush outbox: %w", err)
	}
	for len(events) > 0 {
		n := batchSize(events)
		if err := e.publishEvents(ctx, events[:n]); err != nil {
			return fmt.Errorf("flush outbox: %w", err)
		}
		events = events[n:]
	}
	if err := o.file.Truncate(0); err != nil {
		return fmt.Errorf("flush outbox: %w", err)
	}
	o.count = 0
	o.end = 0
	return nil
}

// watchConnection sends what waits when the connection is back, until quit is called. It outlives the
// call that queued an event, whose ctx is.
func (e *Emitter) watchConnection(ctx context.Context) {
	status := e.nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer e.nc.RemoveStatusListener(status)
		e.resendQueued(ctx, status)
	}()
	e.quit = func() {
		cancel()
		<-done
	}
}

// resendQueued flushes at every reconnect, and a while after something was queued or not taken.
func (e *Emitter) resendQueued(ctx context.Context, status <-chan nats.Status) {
	const first, longest = 250 * time.Millisecond, 30 * time.Second
	again := time.NewTimer(first)
	wait := first
	for {
		select {
		case <-ctx.Done():
			return
		case now, ok := <-status:
			if !ok || now == nats.CLOSED {
				return
			}
			wait = first
		case <-e.queued:
			again.Reset(wait)
			continue
		case <-again.C:
		}
		if err := e.Flush(ctx); err != nil && e.nc.IsConnected() { // whoever publishes next hears why
			again.Reset(wait)
			wait = min(2*wait, longest)
		}
	}
}

// Close flushes the outbox as far as NATS takes it and closes its file. The
// connection stays open.
func (e *Emitter) Close(ctx context.Context) error {
	if e.outbox == nil {
		return nil
	}
	e.watching.Do(func() {})
	if e.quit != nil {
		e.quit()
	}
	flushErr := e.Flush(ctx)
	e.outbox.mu.Lock()
	defer e.outbox.mu.Unlock()
	return errors.Join(flushErr, e.outbox.file.Close())
}
