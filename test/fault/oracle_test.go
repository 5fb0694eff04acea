package fault

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

func system(t *testing.T, tenant string) scope.Scope {
	t.Helper()
	s, err := scope.System(tenant)
	must(t, err)
	return s
}

// settle waits until a running node has done all there is: every acknowledged event
// logged and indexed, every erasure finished, the ledger at the log's end. It returns
// the positions on the ledger and what is in the dead letters.
func (r *record) settle(t *testing.T, n *node, tenants []string) (ledger map[string][]int64, letters []jetstream.DeadLetter) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	nc, err := nats.Connect(n.address(ctx))
	must(t, err)
	defer nc.Close()
	conn, err := js.New(nc)
	must(t, err)
	for _, tenant := range tenants {
		end := r.producer(n, 0)
		end.tenant, end.nc, end.js = tenant, nc, conn
		end.put(ctx)
		if ctx.Err() != nil {
			t.Fatalf("the end of the stream of %q is not logged after a minute", tenant)
		}
	}
	for k := range r.forgot {
		req, err := json.Marshal(schemas.ReceiptRequest{Source: k.source, ID: k.id + ".receipt", Level: schemas.ReceiptIndexed, Timeout: 30000})
		must(t, err)
		said := ""
		poll(t, time.Minute, fmt.Sprintf("erasure %v is finished", k), func() bool {
			_, err := jetstream.Request(ctx, nc, "log.v1."+k.tenant+".receipt", req)
			if err != nil && err.Error() != said { // finishing it may still fail, from before NATS came back
				said = err.Error()
				t.Logf("erasure %v is not finished yet: %v", k, err)
			}
			return err == nil
		})
	}
	ledger = map[string][]int64{}
	for _, tenant := range tenants {
		poll(t, 2*time.Minute, "the ledger reaches the log's end", func() bool {
			var h schemas.HeadReply
			raw, err := jetstream.Request(ctx, nc, "log.v1."+tenant+".head", nil)
			must(t, err)
			must(t, json.Unmarshal(raw, &h))
			stream, err := conn.Stream(ctx, jetstream.LedgerStream)
			must(t, err)
			last, err := stream.GetLastMsgForSubject(ctx, "prov.v1."+tenant+".>")
			return err == nil && last.Header.Get(jetstream.HeaderPosition) == strconv.FormatInt(h.Size, 10)
		})
		ledger[tenant] = ledgerPositions(ctx, t, conn, tenant)
	}
	operator, err := nats.Connect(n.address(ctx), n.operator(t))
	must(t, err)
	defer operator.Close()
	if conn, err = js.New(operator); err != nil {
		t.Fatal(err)
	}
	dead, err := jetstream.OpenDeadLetters(ctx, conn)
	must(t, err)
	letters, err = dead.List(ctx, "", 0, 1<<20)
	must(t, err)
	return ledger, letters
}

// ledgerPositions returns the positions of a tenant that LEDGER has, after those of the oldest
// that it has dropped since it is full: a long run writes more than it holds.
func ledgerPositions(ctx context.Context, t *testing.T, conn js.JetStream, tenant string) []int64 {
	t.Helper()
	stream, err := conn.Stream(ctx, jetstream.LedgerStream)
	must(t, err)
	full := stream.CachedInfo().State.FirstSeq > 1
	consumer, err := conn.OrderedConsumer(ctx, jetstream.LedgerStream, js.OrderedConsumerConfig{FilterSubjects: []string{"prov.v1." + tenant + ".>"}})
	must(t, err)
	var positions []int64
	for left := consumer.CachedInfo().NumPending; left > 0; {
		batch, err := consumer.Fetch(int(min(left, 500)), js.FetchMaxWait(5*time.Second))
		must(t, err)
		for msg := range batch.Messages() {
			position, err := strconv.ParseInt(msg.Headers().Get(jetstream.HeaderPosition), 10, 64)
			must(t, err)
			for full && int64(len(positions)) < position-1 {
				positions = append(positions, int64(len(positions)+1))
			}
			full = false
			if last := len(positions); last > 0 && position != positions[last-1]+1 {
				meta, err := msg.Metadata()
				must(t, err)
				t.Logf("LEDGER of %q: position %d follows %d, stored as %d at %s, to follow %s", tenant, position, positions[last-1],
					meta.Sequence.Stream, meta.Timestamp.Format(time.StampMilli), msg.Headers().Get(js.ExpectedLastSubjSeqHeader))
			}
			positions = append(positions, position)
			left--
		}
		if err := batch.Error(); !errors.Is(err, nats.ErrNoResponders) { // a cluster is still making the consumer
			must(t, err)
		}
	}
	return positions
}

// check compares a stopped node with what the outside knows.
func (r *record) check(t *testing.T, n *node, ledger map[string][]int64, letters []jetstream.DeadLetter) {
	t.Helper()
	for _, problem := range r.problems {
		t.Error(problem)
	}
	log := openLog(t, n.dir, n.database)
	if err := log.VerifyAll(t.Context(), nil); err != nil {
		t.Errorf("verify: %v", err)
	}
	tenants, err := log.Tenants(t.Context())
	must(t, err)
	logged := map[key]*eventlog.Entry{}
	for _, tenant := range tenants {
		s := system(t, tenant)
		entries := readAll(t, log, s)
		r.checkEntries(t, tenant, entries, logged)
		checkDense(t, tenant, ledger[tenant], len(entries))
		checkProjections(t, n, log, s)
	}
	for k := range r.acked {
		if logged[k] == nil {
			r.lose(t, "%v was acknowledged and is not in the log", k)
		}
	}
	for k := range r.forgot {
		if e := logged[k]; e == nil || e.Type != schemas.TypeMemoryErased {
			r.lose(t, "erasure %v is not in the log", k)
		}
	}
	if n.database == "" { // else each worker has a list of its own
		r.checkLists(t, n.dir)
	}
	r.checkAnswers(t, log)
	r.checkHeads(t, log)
	r.checkLetters(t, letters)
}

func readAll(t *testing.T, log *eventlog.Log, s scope.Scope) []eventlog.Entry {
	t.Helper()
	var all []eventlog.Entry
	for {
		part, err := log.Read(t.Context(), s, int64(len(all)), 5000)
		must(t, err)
		if len(part) == 0 {
			return all
		}
		all = append(all, part...)
	}
}

// checkEntries: L ⊆ B, the data is what was tried first, no key twice, every source in
// the order it published, positions dense.
func (r *record) checkEntries(t *testing.T, tenant string, entries []eventlog.Entry, logged map[key]*eventlog.Entry) {
	t.Helper()
	bySource := map[string][]key{}
	for i := range entries {
		e := &entries[i]
		k := key{tenant, e.Source, e.ID}
		if e.Position != int64(i+1) {
			t.Fatalf("%s: position %d where %d was to come", tenant, e.Position, i+1)
		}
		if logged[k] != nil {
			r.double(t, "%v at positions %d and %d", k, logged[k].Position, e.Position)
		}
		logged[k] = e
		if e.Agent == "satchel" { // packs, reports, decisions, receipts
			continue
		}
		if r.tried[k] == nil {
			t.Errorf("INVENTED: %v at position %d was never published", k, e.Position)
			continue
		}
		if e.Type != schemas.TypeMemoryErased && !e.Erased && sha256.Sum256(e.Data) != r.first[k] {
			t.Errorf("CHANGED: %v at position %d has other data than what was published first", k, e.Position)
		}
		if e.Erased && !r.erasing[tenant+"/"+e.Subject] {
			r.lose(t, "the content of %v at position %d is gone and nobody asked for it", k, e.Position)
		}
		bySource[e.Source] = append(bySource[e.Source], k)
	}
	for source, got := range bySource {
		var want []key
		for _, k := range r.order[tenant+"/"+source] {
			if logged[k] != nil {
				want = append(want, k)
			}
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(key{})); diff != "" {
			t.Errorf("ORDER: source %q of %q (-published +logged):\n%s", source, tenant, diff)
		}
	}
}

func checkDense(t *testing.T, tenant string, positions []int64, size int) {
	t.Helper()
	for i, p := range positions {
		if p != int64(i+1) {
			t.Errorf("LEDGER of %q: position %d where %d was to come", tenant, p, i+1)
			return
		}
	}
	if len(positions) > size {
		t.Errorf("LEDGER of %q has %d entries, the log %d", tenant, len(positions), size)
	}
}

// checkProjections: the indexes are a fold of the log.
func checkProjections(t *testing.T, n *node, log *eventlog.Log, s scope.Scope) {
	t.Helper()
	live := openIndexes(t, filepath.Join(n.dir, "index"), n.database)
	n.servers.open(t, live)
	p := live.projector(log)
	h, err := log.Head(t.Context(), s)
	must(t, err)
	must(t, p.Await(t.Context(), s, h.Size))
	fresh := openIndexes(t, filepath.Join(t.TempDir(), s.Tenant()), "")
	must(t, fresh.projector(log).Rebuild(t.Context(), s, nil))
	want, got := fresh.digests(t, s), live.digests(t, s)
	if n.model != "" {
		checkEncoded(t, n, log, s)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("PROJECTIONS of %q differ from a rebuild (-rebuilt +live):\n%s", s.Tenant(), diff)
	}
}

// checkAnswers: every reply has its pack, report and decisions in the log.
func (r *record) checkAnswers(t *testing.T, log *eventlog.Log) {
	t.Helper()
	for _, a := range r.results {
		s, p := system(t, a.tenant), a.result.Payload
		if p.Positions.Pack == 0 { // from before the tenant's first event: there was no log
			if len(p.Results) > 0 {
				t.Errorf("PROVENANCE: pack %s shows items and is not in the log", p.PackID)
			}
			continue
		}
		e, err := log.Entry(t.Context(), s, p.Positions.Pack)
		if err != nil || e.Type != schemas.TypeContextPacked || e.ID != p.PackID {
			t.Errorf("PROVENANCE: pack %s at position %d: %v", p.PackID, p.Positions.Pack, err)
			continue
		}
		var pack schemas.ContextPack
		must(t, json.Unmarshal(e.Data, &pack))
		if pack.ResultSHA256 != p.Pack.ResultSHA256 || pack.RenderedSHA256 != hexSum(append(unhex(t, p.Pack.Salt), p.Text...)) {
			t.Errorf("PROVENANCE: pack %s in the log is not the one that left", p.PackID)
		}
		stored, err := log.Attachment(t.Context(), s, e.Position)
		switch {
		case errors.Is(err, eventlog.ErrErased):
			if !r.mayBeErased(a) {
				r.lose(t, "the bytes of pack %s are gone and it shows nothing that was erased", p.PackID)
			}
		case err != nil:
			t.Errorf("PROVENANCE: bytes of pack %s: %v", p.PackID, err)
		case hexSum(stored) != pack.ResultSHA256:
			t.Errorf("PROVENANCE: bytes of pack %s have another hash", p.PackID)
		}
		for position, want := range map[int64]string{p.Positions.Drop: schemas.TypeContextDropped, p.Positions.Decision: schemas.TypePolicyDecided} {
			if e, err := log.Entry(t.Context(), s, position); err != nil || e.Type != want {
				t.Errorf("PROVENANCE: %s of pack %s at position %d: %v", want, p.PackID, position, err)
			}
		}
	}
}

// checkLists: every erasure that has a receipt is in the list that outlives the log.
func (r *record) checkLists(t *testing.T, dir string) {
	t.Helper()
	for k := range r.forgot {
		raw, err := os.ReadFile(filepath.Join(dir, "erased", k.tenant))
		must(t, err)
		if !bytes.Contains(raw, []byte(`"id":"`+k.id+`"`)) {
			r.lose(t, "erasure %v is not in the list of erasures", k)
		}
	}
}

func (r *record) mayBeErased(a answer) bool {
	for _, section := range a.result.Payload.Pack.Sections {
		for _, item := range section.Items {
			if r.erasing[a.tenant+"/"+item.ID] {
				return true
			}
		}
	}
	return false
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(text)
	must(t, err)
	return raw
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// checkHeads: every signed head that was handed out is a prefix of the log.
func (r *record) checkHeads(t *testing.T, log *eventlog.Log) {
	t.Helper()
	for _, h := range r.heads {
		if h.size == 0 {
			continue
		}
		proof, err := log.ProveConsistency(t.Context(), system(t, h.tenant), h.size)
		if err != nil || proof.OldRoot != h.root {
			t.Errorf("HEAD of %q at size %d: %v, root %s, was %s", h.tenant, h.size, err, proof.OldRoot, h.root)
		}
	}
}

func (r *record) checkLetters(t *testing.T, letters []jetstream.DeadLetter) {
	t.Helper()
	got, copies := map[string]bool{}, map[string]bool{}
	for _, l := range letters {
		got[fmt.Sprint(key{l.Tenant, l.Source, l.ID}, l.Reason)] = true
		at := fmt.Sprint(l.Epoch, "/", l.StreamSeq)
		if copies[at] {
			r.double(t, "message %s is in the dead letters more than once", at)
		}
		copies[at] = true
	}
	for k, reason := range r.rejected {
		if !got[fmt.Sprint(k, reason)] {
			r.lose(t, "%v was to be a dead letter for %s", k, reason)
		}
	}
}
