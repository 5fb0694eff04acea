package jetstream

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// askedBy is a request of a tenant's principal, known by its reply subject.
func askedBy(tenant, payer, name string, at time.Time) job {
	return job{request: Call{Tenant: tenant, Payer: payer}, reply: name, arrived: at}
}

// TestQueueTakesTurnsOfPrincipals: a tenant's principals take turns within the tenant's turns,
// whatever line one of them has.
func TestQueueTakesTurnsOfPrincipals(t *testing.T) {
	t.Parallel()
	q := newQueue(40)
	for i := range 20 {
		q.enqueueJob(askedBy("acme", "flood", fmt.Sprint("f", i), time.Time{}))
	}
	for _, name := range []string{"a1", "a2"} {
		q.enqueueJob(askedBy("acme", "agent", name, time.Time{}))
	}
	q.enqueueJob(askedBy("globex", "agent", "g1", time.Time{}))
	q.enqueueJob(askedBy("globex", "agent", "g2", time.Time{}))
	var got []string
	for range 8 { // one worker
		j := mustTake(t, q)
		got = append(got, j.reply)
		q.releaseWorker(j)
	}
	if diff := cmp.Diff([]string{"f0", "g1", "a1", "g2", "f1", "a2", "f2", "f3"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestQueueRefusesTheFlood: one who asks now and then is never refused beside a principal of
// its tenant that has taken all places.
func TestQueueRefusesTheFlood(t *testing.T) {
	t.Parallel()
	q := newQueue(30)
	refused := map[string]int{}
	ask := func(payer, name string) {
		for _, lost := range q.enqueueJob(askedBy("acme", payer, name, time.Time{})) {
			refused[lost.request.Payer]++
		}
	}
	answered := map[string]int{}
	for i := range 50 {
		for k := range 40 {
			ask("flood", fmt.Sprint("f", i, ".", k))
		}
		ask("agent", fmt.Sprint("a", i))
		for range 2 { // one worker
			j := mustTake(t, q)
			answered[j.request.Payer]++
			q.releaseWorker(j)
		}
	}
	if refused["agent"] != 0 || answered["agent"] < 49 || refused["flood"] < 1800 {
		t.Errorf("refused %v, answered %v: want every request of agent answered", refused, answered)
	}
}

// TestQueueKeepsWorkersForOthers: while another asks, a principal holds at most its share of
// the workers; alone it has all of them.
func TestQueueKeepsWorkersForOthers(t *testing.T) {
	t.Parallel()
	q := newQueue(100)
	q.most = 2
	now := time.Now()
	long := now.Add(-time.Hour)
	for i := range 20 {
		q.enqueueJob(askedBy("acme", "flood", fmt.Sprint(i), long))
	}
	var running []job
	for range 6 { // nobody else asks
		running = append(running, mustTake(t, q))
	}
	q.enqueueJob(askedBy("globex", "agent", "g0", now))
	q.enqueueJob(askedBy("acme", "flood", "20", now))
	if j := mustTake(t, q); j.reply != "g0" {
		t.Fatalf("took %s, want the other's", j.reply)
	}
	if _, p := q.chooseNextLine(); p != nil {
		t.Fatalf("%s may have another worker beside the six that it holds", p.name)
	}
	for _, j := range running[:5] {
		q.releaseWorker(j)
	}
	mustTake(t, q)
	if _, p := q.chooseNextLine(); p != nil {
		t.Fatalf("%s holds %d workers and may have another", p.name, p.held)
	}
	q.closeQueue() // everything in line is taken all the same
	for range 14 {
		mustTake(t, q)
	}
	if _, more := q.takeRequest(); more {
		t.Error("the queue has more than was put")
	}
}

// TestPayer: work counts against whom the transport vouches for, or against the claim; claims
// that nobody vouches for share a few names.
func TestPayer(t *testing.T) {
	t.Parallel()
	s := &Service{seed: maphash.MakeSeed(), cfg: ServiceConfig{Vouched: true}}
	large, err := json.Marshal(strings.Repeat("x", 2*claimBytes))
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`{"meta":{"type":"ContextRequest","from":{"type":"agent","id":"ada"}},"payload":{}}`: "ada",
		`{"from":{"groups":["a",{"id":"x"}],"id":"bob"},"limit":3}`:                          "bob",
		`{"limit":3,"event":{"id":"e","agent":"x"},"agent":"eve"}`:                           "eve",
		`{"payload":{"from":{"id":"x"}}}`:                                                    "",
		`{"from":{"id":7}}`:                                                                  "", `{"from":["id","x"]}`: "", `{"from":{"id":"a b"}}`: "", `[]`: "", `{`: "", ``: "", `{"from":{"id":"ada`: "",
		`{"event":` + string(large) + `,"agent":"eve"}`: "",
	} {
		if got := s.payerOf(&Call{Data: []byte(body)}); got != want {
			t.Errorf("%.60s: %q, want %q", body, got, want)
		}
	}
	if got := s.payerOf(&Call{Principal: "ada", Data: []byte(`{"from":{"id":"eve"}}`)}); got != "ada" {
		t.Errorf("a claim counts for %q though the transport knows who asks", got)
	}
	s.cfg.Vouched = false
	names := map[string]bool{}
	for i := range 1000 {
		names[s.payerOf(&Call{Data: fmt.Appendf(nil, `{"agent":"a%d"}`, i)})] = true
	}
	if len(names) != claimedShares || names["a1"] {
		t.Errorf("1000 names that nobody vouches for have %d shares, want %d", len(names), claimedShares)
	}
}

func FuzzReadClaim(f *testing.F) {
	f.Add([]byte(`{"meta":{"from":{"id":"ada"}}}`))
	f.Add([]byte(`{"from":[{"id":1}],"agent":"b"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		s := &Service{cfg: ServiceConfig{Vouched: true}}
		if got := s.payerOf(&Call{Data: body}); got != "" && !ValidToken(got) {
			t.Errorf("%q is no name", got)
		}
	})
}
