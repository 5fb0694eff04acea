// Package eventlogtest is the conformance suite of the event log's drivers. A driver passes
// when Run does, with -race.
package eventlogtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

// Open returns a driver over a fresh, empty store. The suite closes it.
type Open func(t *testing.T) eventlog.Driver

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Open)
	}{
		{"AppendRead", testAppendRead}, {"Existing", testExisting}, {"Leaf", testLeaf}, {"Empty", testEmpty}, {"Dedupe", testDedupe},
		{"Invalid", testInvalid}, {"Fence", testFence}, {"ReusedHoldsCheckpoint", testReusedHoldsCheckpoint}, {"Scope", testScope}, {"Lookups", testLookups},
		{"Concurrent", testConcurrent}, {"Cancel", testCancel}, {"Poison", testPoison}, {"Closed", testClosed},
		{"Await", testAwait}, {"Watch", testWatch}, {"Proofs", testProofs}, {"SignedHead", testSignedHead},
		{"Kept", testKept}, {"Erasures", testErasures}, {"ErasuresDamaged", testErasuresDamaged}, {"Erase", testErase}, {"Overtaken", testOvertaken}, {"FencedErasure", testFencedErasure}, {"Unexplained", testUnexplained}, {"Verify", testVerify},
		{"Model", testModel}, {"Tail", testTail}, {"Copy", testCopy}, {"Export", testExport}, {"Mark", testMark},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open)
		})
	}
}

const (
	typeRecorded = "io.satchel.memory.recorded.v1"
	typePacked   = "io.satchel.context.packed.v1"
	typeErased   = "io.satchel.memory.erased.v1"
	agentSource  = "satchel://agents/planner"
)

func recordedAt() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC) }

// newLog returns a Log with fixed clock, salts and key.
func newLog(t *testing.T, driver eventlog.Driver, change func(*eventlog.Config)) *eventlog.Log {
	t.Helper()
	seed := sha256.Sum256([]byte(t.Name()))
	private, public, err := note.GenerateKey(rand.NewChaCha8(seed), "satchel-test")
	if err != nil {
		t.Fatal(err)
	}
	signer := must.Get(note.NewSigner(private))(t)
	cfg := eventlog.Config{Driver: driver, Clock: recordedAt, Rand: rand.NewChaCha8(seed), Signer: signer, VerifierKey: public}
	if change != nil {
		change(&cfg)
	}
	l := must.Get(eventlog.New(cfg))(t)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func draft(tenant, id, text string) eventlog.Draft {
	return eventlog.Draft{
		Tenant: tenant, Agent: "planner", Type: typeRecorded, Source: agentSource, ID: id, Subject: "item-" + id,
		Time: time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC), Data: fmt.Appendf(nil, `{"text":%q}`, text),
		Extensions: map[string]string{"datacontenttype": "application/json", "traceparent": "00-x"},
	}
}

// packed returns a pack with an attachment that shows items.
func packed(tenant, id, rendered string, items ...string) eventlog.Draft {
	d := draft(tenant, id, "")
	sum := sha256.Sum256([]byte(rendered))
	d.Type, d.Source, d.Attachment = typePacked, "satchel://engine", eventlog.Derive(items, []byte(rendered))
	d.Data = fmt.Appendf(nil, `{"result_sha256":%q,"items":%q}`, hex.EncodeToString(sum[:]), items)
	return d
}

func add(t *testing.T, l *eventlog.Log, drafts ...eventlog.Draft) []eventlog.Outcome {
	t.Helper()
	out := must.Get(l.Append(t.Context(), eventlog.Batch{Drafts: drafts}))(t)
	if len(out) != len(drafts) {
		t.Fatalf("%d outcomes for %d drafts", len(out), len(drafts))
	}
	return out
}

func statuses(out []eventlog.Outcome) []eventlog.Status {
	s := make([]eventlog.Status, len(out))
	for i := range out {
		s[i] = out[i].Status
	}
	return s
}

func readAll(t *testing.T, l *eventlog.Log, tenant string) []eventlog.Entry {
	t.Helper()
	var all []eventlog.Entry
	for {
		part := must.Get(l.Read(t.Context(), folded.Tenant(t, tenant), int64(len(all)), 7))(t)
		if len(part) == 0 {
			return all
		}
		all = append(all, part...)
	}
}

// leafOf recomputes a leaf with nothing but the format in the package comment.
func leafOf(e *eventlog.Entry) [32]byte {
	when := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format("2006-01-02T15:04:05.000000000Z")
	}
	attachment := ""
	if e.Attached {
		attachment = hex.EncodeToString(e.Attachment[:])
	}
	var b bytes.Buffer
	b.WriteString("\x00satchel log leaf v1\n")
	for _, f := range [][2]string{
		{"tenant", e.Tenant}, {"position", fmt.Sprint(e.Position)}, {"agent", e.Agent}, {"type", e.Type}, {"source", e.Source},
		{"id", e.ID}, {"subject", e.Subject}, {"time", when(e.Time)}, {"recorded_at", when(e.RecordedAt)},
		{"commitment", hex.EncodeToString(e.Commitment[:])}, {"attachment", attachment},
	} {
		fmt.Fprintf(&b, "%s %d %s\n", f[0], len(f[1]), f[1])
	}
	return sha256.Sum256(b.Bytes())
}

// summary is an item that was made of others.
func summary(of ...string) eventlog.Derived {
	item := schemas.MemoryItem{ID: "sum", Type: schemas.Semantic, Kind: schemas.KindSummary, Scope: schemas.MemoryScope{Tenant: "acme"},
		CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Content: schemas.TextContent("in short")}
	for _, id := range of {
		item.Links = append(item.Links, schemas.Link{Rel: schemas.RelDerivedFrom, To: id})
	}
	data, err := json.Marshal(&item)
	if err != nil {
		return eventlog.Derived{}
	}
	return eventlog.Derive(of, data)
}

func summaryDraft(item eventlog.Derived) eventlog.Draft {
	return eventlog.Draft{Tenant: "acme", Type: schemas.TypeMemoryRecorded, Source: schemas.SourceCompaction, ID: "sum", Subject: "sum", Item: item}
}
