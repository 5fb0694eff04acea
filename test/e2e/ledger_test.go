package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"satchel/test/parts"
	"satchel/test/testenv"
)

// event is one of a stream; a comment has only that.
type event struct{ id, name, data, comment string }

// stream is the answer of GET /v1/ledger. Its channel is closed when it ends.
func (d *door) stream(query, token, last string) <-chan event {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, d.url+"/v1/ledger"+query, http.NoBody)
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = res.Body.Close() })
	if kind := res.Header.Get("Content-Type"); res.StatusCode != 200 || kind != "text/event-stream" {
		d.t.Fatalf("the ledger: %s, %s", res.Status, kind)
	}
	events := make(chan event, 1000)
	go func() {
		defer close(events)
		var e event
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ":")
			value = strings.TrimPrefix(value, " ")
			switch {
			case lines.Text() == "":
				if e != (event{}) {
					events <- e
				}
				e = event{}
			case name == "":
				e.comment = value
			case name == "id":
				e.id = value
			case name == "event":
				e.name = value
			case name == "data":
				e.data = value
			}
		}
	}()
	return events
}

// entry is the next event that is no comment.
func (d *door) entry(events <-chan event) event {
	d.t.Helper()
	for end := time.After(time.Minute); ; {
		select {
		case e, open := <-events:
			if !open {
				d.t.Fatal("the stream has ended")
			}
			if e.comment == "" {
				return e
			}
		case <-end:
			d.t.Fatal("nothing came")
		}
	}
}

// Over HTTP the ledger is followed as it grows, from where the client was.
func TestTheLedgerOverHTTP(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	s := testenv.Up(t, binary("satchel"), t.TempDir())
	writer, auditor := newToken(t, s, "writer"), newToken(t, s, "auditor", "--scope", "memory.audit")
	stranger := newToken(t, s, "stranger", "--tenant", "other", "--scope", "memory.audit")
	d := gatewayOf(t, s)
	write := func(n int) {
		t.Helper()
		note := fmt.Sprintf(`{"id":"note-%d","content":"The lighthouse keeper wrote note %d."}`, n, n)
		if code, text, _ := d.call("POST", "/v1/memories", writer, note); code != 200 {
			t.Fatalf("remember: %d %s", code, text)
		}
	}
	for _, c := range []struct {
		query, token, last, code string
		status                   int
	}{
		{"", "", "", "unauthenticated", 401},
		{"", writer, "", "insufficient_scope", 403},
		{"?after=x", auditor, "", "validation_error", 400},
		{"?after=99999", auditor, "", "validation_error", 400},
		{"?kind=secret", auditor, "", "validation_error", 400},
		{"?before=3", auditor, "", "validation_error", 400},
		{"", auditor, "-1", "validation_error", 400},
	} {
		status, text, v := d.call("GET", "/v1/ledger"+c.query, c.token, "", "Last-Event-ID: "+c.last)
		if status != c.status || v["code"] != c.code {
			t.Errorf("%s: %d %s, want %d %s", c.query, status, text, c.status, c.code)
		}
	}
	whole := d.stream("?after=0", auditor, "")
	elsewhere := d.stream("?after=0", stranger, "")
	for n := range 3 {
		write(n)
	}
	at := int64(0)
	take := func(events <-chan event) event {
		t.Helper()
		e := d.entry(events)
		var v struct {
			Position   int64
			Kind, Leaf string
		}
		err := json.Unmarshal([]byte(e.data), &v)
		if err != nil || e.id != strconv.FormatInt(v.Position, 10) || v.Position <= at || v.Kind == "" || len(v.Leaf) != 64 {
			t.Fatalf("after %d came %+v (%v)", at, e, err)
		}
		if strings.Contains(e.data, "lighthouse") {
			t.Errorf("the ledger shows a content: %s", e.data)
		}
		at = v.Position
		return e
	}
	for range 3 {
		take(whole)
	}
	now, third := d.stream("?kind=memory", auditor, ""), at
	write(3)
	resumed := d.stream("?after=1", auditor, "2") // Last-Event-ID wins
	at = 2
	for range 2 {
		take(resumed)
	}
	at = third
	if e := take(now); !strings.Contains(e.data, "note-3") {
		t.Errorf("from now on came %+v", e)
	}
	if out, err := exec.Command(s.Binary, "token", "revoke", "auditor", "--dir", s.Dir).CombinedOutput(); err != nil {
		t.Fatalf("revoke: %v %s", err, out)
	}
	if e := d.entry(now); e.name != "error" || !strings.Contains(e.data, "unauthenticated") {
		t.Errorf("after the token was taken away came %+v", e)
	}
	if _, open := <-now; open {
		t.Error("the stream goes on without its token")
	}
	// A stream that has nothing to say lives longer than a request may take.
	for began, comments := time.Now(), 0; time.Since(began) < 31*time.Second || comments < 2; comments++ {
		select {
		case e, open := <-elsewhere:
			if !open || e.comment == "" {
				t.Fatalf("another tenant's stream: %+v, open %v", e, open)
			}
		case <-time.After(time.Minute):
			t.Fatal("no sign of life")
		}
	}
}

// A gateway that is told to stop ends its streams, and does not wait for them.
func TestAGatewayWithStreamsStops(t *testing.T) {
	t.Parallel()
	s := testenv.Up(t, binary("satchel"), t.TempDir())
	auditor := newToken(t, s, "auditor", "--scope", "memory.audit")
	d := gatewayOf(t, s)
	var streams []<-chan event
	for range 64 {
		streams = append(streams, d.stream("", auditor, ""))
	}
	if status, text, _ := d.call("GET", "/v1/ledger", auditor, ""); status != 429 {
		t.Errorf("one stream more: %d %s", status, text)
	}
	began := time.Now()
	if err := d.process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for _, events := range streams {
		for e := range events {
			if e.comment == "" {
				t.Errorf("at the end came %+v", e)
			}
		}
	}
	if state, err := d.process.Wait(); err != nil || !state.Success() || time.Since(began) > 8*time.Second {
		t.Errorf("it took %s to stop: %v, %v", time.Since(began), state, err)
	}
}
