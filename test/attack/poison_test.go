package attack

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"satchel/jetstream"
	"satchel/test/parts"
	"satchel/test/testenv"
	"satchel/test/testenv/natsclient"
)

// raw connects as somebody who writes headers byte by byte; with no key, as any client does.
func raw(t *testing.T, s *testenv.Satchel, key nkeys.KeyPair) *natsclient.Raw {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "nats://"))
	must(t, err)
	return natsclient.ConnectRaw(t, conn, key)
}

// operator returns the key of who has the data folder.
func operator(t *testing.T, s *testenv.Satchel) nkeys.KeyPair {
	t.Helper()
	seed, err := os.ReadFile(filepath.Join(s.Dir, "streams", "operator.nk"))
	must(t, err)
	key, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(seed))))
	must(t, err)
	return key
}

// note is an event that remembers an item, in structured mode.
func note(tenant, id string) string {
	return fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":"try","type":"io.satchel.memory.recorded.v1","datacontenttype":"application/json","data":{"id":%q,"type":"episodic","kind":"memory","scope":{"tenant":%q},"created_at":"2026-03-03T10:00:00Z","security_label":["level:internal"],"content":"The build turned green."}}`, id, id, tenant)
}

// awaitItem waits until a request finds an item.
func awaitItem(t *testing.T, nc *nats.Conn, tenant, id string) {
	t.Helper()
	for ctx := patient(t); ; {
		said := ask(nc, "ctx.v1."+tenant+".items", map[string]any{"from": map[string]any{"id": "try", "securityLevel": "internal"}, "item_ids": []string{id}})
		if strings.Contains(said, "The build turned green.") {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("item %s is not found: %s", id, said)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// probe asks one of the probes, and returns the status and what it says.
func probe(t *testing.T, s *testenv.Satchel, path string) (int, string) {
	t.Helper()
	res, err := http.Get("http://" + s.HTTP + path)
	must(t, err)
	defer res.Body.Close()
	said, err := io.ReadAll(res.Body)
	must(t, err)
	return res.StatusCode, string(said)
}

// A message is an event or a dead letter, whatever its headers: what anybody publishes stops no
// partition, no list of dead letters, no relay, no ledger and no erasure.
func TestPoison(t *testing.T) {
	t.Parallel()
	s := testenv.Up(t, binary, filepath.Join(t.TempDir(), "data"))
	nc, err := nats.Connect(s.URL)
	must(t, err)
	defer nc.Close()
	anybody, owner := raw(t, s, nil), raw(t, s, operator(t, s))
	last := ""
	for n, one := range natsclient.Poisons() {
		anybody.Publish(t, "mem.v1.main.evt.try", one.Header, one.Data)
		owner.Publish(t, "dlq.v1.main.malformed", one.Header, one.Data)
		owner.Publish(t, "prov.v1.main.memory.try", one.Header, one.Data)
		last = fmt.Sprint("after", n)
		anybody.Publish(t, "mem.v1.main.evt.try", natsclient.Header("Content-Type: application/cloudevents+json"), note("main", last))
	}
	awaitItem(t, nc, "main", last)
	var letters []struct {
		Seq     int  `json:"seq"`
		Foreign bool `json:"foreign"`
	}
	must(t, json.Unmarshal([]byte(s.Must(t, "dlq", "ls", "--limit", "1000", "--json")), &letters))
	own, foreign := 0, 0
	for _, l := range letters {
		if l.Foreign {
			foreign++
			continue
		}
		if own++; own == 1 || own == 20 {
			s.Must(t, "dlq", "show", fmt.Sprint(l.Seq))
			s.Must(t, "dlq", "retry", fmt.Sprint(l.Seq))
		}
	}
	if all := len(natsclient.Poisons()); own < all-5 || foreign < all-5 { // some the server itself refuses
		t.Errorf("%d dead letters and %d foreign ones of %d", own, foreign, all)
	}
	if out := s.Must(t, "forget", last, "--reason", "test"); !strings.Contains(out, "erased "+last) {
		t.Errorf("forget says %q", out)
	}
	if out := s.Must(t, "ledger", "--kind", "erasure"); !strings.Contains(out, last) {
		t.Errorf("the ledger lacks the erasure: %q", out)
	}
	if code, said := probe(t, s, "/readyz"); code != http.StatusOK {
		t.Errorf("/readyz: %d %s", code, said)
	}
	if out, _ := s.Run(t, "doctor"); !strings.Contains(out, "ok   partitions") {
		t.Errorf("doctor says %q", out)
	}
}

// A partition that stands still while events wait is named by /readyz, by doctor, by the receipt of
// a write and by that of an erasure elsewhere. When it gets on, everything is made good.
func TestAPartitionStandsStill(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	s := testenv.Up(t, binary, filepath.Join(t.TempDir(), "data"))
	key := operator(t, s)
	public, err := key.PublicKey()
	must(t, err)
	nc, err := nats.Connect(s.URL, nats.Nkey(public, key.Sign))
	must(t, err)
	defer nc.Close()
	conn, err := js.New(nc)
	must(t, err)
	partition, other := jetstream.PartitionOf("main"), ""
	for n := 0; other == ""; n++ {
		if tenant := fmt.Sprint("t", n); jetstream.PartitionOf(tenant) != partition {
			other = tenant
		}
	}
	name := jetstream.PartitionName(jetstream.PartitionOf(other))
	s.Must(t, "emit", "--id", "kept", "--text", "The build turned green.")
	_, err = conn.PauseConsumer(patient(t), jetstream.MemoryStream, "append-"+name, time.Now().Add(time.Hour))
	must(t, err)
	must(t, nc.Publish("mem.v1."+other+".evt.try", []byte(note(other, "waits"))))
	must(t, nc.Flush())
	began := time.Now()
	for ctx := patient(t); ; {
		code, said := probe(t, s, "/readyz")
		if code == http.StatusServiceUnavailable && strings.Contains(said, name) && strings.Count(strings.TrimSpace(said), "\n") == 0 {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("/readyz: %d %s", code, said)
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Logf("/readyz named it after %s", time.Since(began))
	out, code := s.Run(t, "doctor")
	if code == 0 || !strings.Contains(out, "NO   partitions") || !strings.Contains(out, name+": events wait") {
		t.Errorf("doctor ends with %d: %q", code, out)
	}
	if said := ask(nc, "mem.v1."+other+".put", map[string]any{"agent": "try", "wait": "logged", "event": json.RawMessage(note(other, "more"))}); !strings.Contains(said, "stands still") || !strings.Contains(said, `"accepted"`) {
		t.Errorf("put says %s", said)
	}
	if out := s.Must(t, "forget", "kept", "--reason", "test"); !strings.Contains(out, "partition "+name+" stands still") {
		t.Errorf("forget says %q", out)
	}
	_, err = conn.ResumeConsumer(patient(t), jetstream.MemoryStream, "append-"+name)
	must(t, err)
	_, err = nc.Request("$JS.API.CONSUMER.MSG.NEXT."+jetstream.MemoryStream+".append-"+name, []byte(`{"batch":1,"no_wait":true}`), time.Minute) // a request wakes it
	must(t, err)
	awaitItem(t, nc, other, "waits")
	for ctx := patient(t); ; {
		code, said := probe(t, s, "/readyz")
		if code == http.StatusOK && strings.Count(s.Must(t, "ledger", "--kind", "erasure"), "receipt: kept") == 2 {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("/readyz: %d %s; the ledger: %s", code, said, s.Must(t, "ledger", "--kind", "erasure"))
		}
	}
}
