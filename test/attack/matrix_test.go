package attack

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// endpoints are the subjects on which the service says that it answers.
func (w *world) endpoints(t *testing.T) []string {
	t.Helper()
	m, err := w.conns[""].Request("$SRV.INFO.satchel", nil, time.Minute)
	must(t, err)
	var info struct{ Endpoints []struct{ Subject string } }
	must(t, json.Unmarshal(m.Data, &info))
	if len(info.Endpoints) == 0 {
		t.Fatalf("the service names no endpoint: %s", m.Data)
	}
	list := make([]string, len(info.Endpoints))
	for i, e := range info.Endpoints {
		list[i] = e.Subject
	}
	return list
}

// fill records an item for each state and kind in the tenant, and returns every canary.
func (w *world) fill(t *testing.T, tenant string, canaries map[string]secret) (ids []string) {
	t.Helper()
	n := 0
	for i := range states {
		for _, kind := range kinds {
			item, secrets := w.item(tenant, &states[i], kind)
			for c, s := range secrets {
				canaries[c] = s
			}
			n = w.record(t, tenant, &states[i], item, n)
			ids = append(ids, item["id"].(string))
		}
	}
	w.settle(t, tenant, n)
	return ids
}

// sender returns a function that logs an event of the writer's. n counts them.
func (w *world) sender(t *testing.T, tenant string, n *int) func(kind string, data map[string]any) {
	return func(kind string, data map[string]any) {
		t.Helper()
		*n++
		body := put("writer", kind, data, *n)
		body["wait"] = "logged"
		if text := ask(w.conns[tenant+"/writer"], "mem.v1."+tenant+".put", body); !strings.Contains(text, `"level"`) {
			t.Fatalf("%s of %v: %.600s", kind, data["id"], text)
		}
	}
}

// record brings an item into its state. n counts the writer's events.
func (w *world) record(t *testing.T, tenant string, st *state, item map[string]any, n int) int {
	t.Helper()
	send := w.sender(t, tenant, &n)
	send("recorded", item)
	if st.again != nil {
		item["security_label"] = st.again
		send("recorded", item)
	}
	if st.name == "erased" {
		send("erased", map[string]any{"scope": map[string]any{"tenant": tenant}, "items": []string{item["id"].(string)}})
	}
	return n
}

// settle waits until what was recorded is indexed. n counts the writer's events.
func (w *world) settle(t *testing.T, tenant string, n int) int {
	t.Helper()
	last := put("writer", "accessed", map[string]any{"scope": map[string]any{"tenant": tenant}, "items": []string{"plain-memory"}}, n+1)
	if text := ask(w.conns[tenant+"/writer"], "mem.v1."+tenant+".put", last); !strings.Contains(text, `"indexed"`) {
		t.Fatalf("wait until all is indexed: %.600s", text)
	}
	return n + 1
}

// listen gives the principal everything that it may hear of the ledger.
func (w *world) listen(t *testing.T, nc *nats.Conn, tenant string) func() string {
	t.Helper()
	js, err := jetstream.New(nc)
	must(t, err)
	return func() string {
		var heard strings.Builder
		for _, subject := range []string{"prov.v1." + tenant + ".>", ">"} {
			c, err := js.CreateConsumer(patient(t), "LEDGER", jetstream.ConsumerConfig{FilterSubject: subject, AckPolicy: jetstream.AckNonePolicy})
			if err != nil {
				continue // it may not
			}
			for {
				batch, err := c.FetchNoWait(1000)
				if err != nil {
					break
				}
				n := 0
				for m := range batch.Messages() {
					n++
					fmt.Fprintln(&heard, m.Subject(), m.Headers(), string(m.Data()))
				}
				if n == 0 {
					break
				}
			}
		}
		return heard.String()
	}
}

// canariesIn returns the canaries that stand in text.
func canariesIn(text string, canaries map[string]secret) []string {
	var found []string
	run := 0
	for i := range len(text) {
		if strings.IndexByte(consonants, text[i]) < 0 {
			run = 0
			continue
		}
		if run++; run >= canaryLength {
			if word := text[i+1-canaryLength : i+1]; canaries[word].state != nil {
				found = append(found, word)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// around returns what stands around a word of a text.
func around(text, word string) string {
	at := strings.Index(text, word)
	return text[max(0, at-200):min(len(text), at+100)]
}

// times are how long something took, as replies tell it.
var times = regexp.MustCompile(`"(\w+(?:Ms|_ms))":\s*([\d.e+-]+)`)

// checkTimes holds that nobody but an auditor is told of stages, or of times that are not rounded coarsely: how long
// a stage takes tells of items that are hidden.
func checkTimes(t *testing.T, what, text string, auditor bool) {
	t.Helper()
	for _, one := range times.FindAllStringSubmatch(text, -1) {
		if ms, err := strconv.ParseFloat(one[2], 64); !auditor && (err != nil || math.Mod(ms, 100) != 0) {
			t.Errorf("%s tells %s", what, one[0])
		}
	}
	if told := strings.Contains(text, `"stages":{`); told && !auditor {
		t.Errorf("%s tells of stages: %s", what, around(text, `"stages":{`))
	}
}

// An auditor is told how long each stage took.
func TestAnAuditorIsToldTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "main")
	w.fill(t, "main", map[string]secret{})
	for i := range principals {
		if p := &principals[i]; p.has("auditor") {
			text := ask(w.conn(p, "main"), "ctx.v1.main.request", operations["context_request"](question{words: shared, from: p.from()})[0])
			if !strings.Contains(text, `"stages":{`) || !strings.Contains(text, `"slice":`) {
				t.Errorf("%s is told of no stages: %.600s", p.name, text)
			}
		}
	}
}

// No operation gives a principal a word that it may not see, for whatever purpose.
func TestNothingIsShownToWhomItMayNot(t *testing.T) {
	t.Parallel()
	w, canaries := newWorld(t, "main"), map[string]secret{}
	ids := w.fill(t, "main", canaries)
	subjects, packs := contract(t), w.packsOf(t, ids)
	replies, shown, leaks := 0, map[string]bool{}, map[string]int{}
	check := func(p *principal, what, purpose, sent, text string) {
		replies++
		checkTimes(t, what+" as "+p.name, text, p.has("auditor"))
		for _, word := range canariesIn(text, canaries) {
			shown[word] = true
			s := canaries[word]
			if s.allowed(p, purpose) || strings.Contains(sent, word) {
				continue
			}
			operation, _, _ := strings.Cut(what, " ")
			leak := operation + " shows the " + s.String()
			if leaks[leak]++; leaks[leak] == 1 {
				t.Errorf("%s, such as %s: %s", leak, what, around(text, word))
			}
		}
	}
	for i := range principals {
		p := &principals[i]
		for j, name := range sorted(operations) {
			if operations[name] == nil || p.elsewhere {
				continue // TestNeighbour tries to come in from elsewhere
			}
			for k, purpose := range []string{"", "billing", "export"} {
				if !share(i+j+k, 3) {
					continue
				}
				q := question{words: shared, purpose: purpose, from: p.from(), tenant: "main", ids: ids, packs: packs, handle: "artifact:main/none", positions: 200}
				for _, body := range w.bodies(name, q) {
					raw, err := json.Marshal(body)
					must(t, err)
					if !strings.Contains(string(raw), `"purpose":`) {
						purpose = "" // the packs were asked for without one
					}
					check(p, describe(p, name, body), purpose, string(raw), ask(w.conn(p, "main"), subjectFor(subjects[name], "main"), body))
				}
			}
		}
		if !p.unregistered {
			check(p, "the ledger as "+p.name, "", "", w.listen(t, w.conn(p, "main"), "main")())
		}
	}
	for _, path := range []string{"/metrics", "/readyz", "/healthz", "/"} {
		check(&principals[3], path, "", "", get(t, "http://"+w.HTTP+path))
	}
	w.Stop()
	check(&principals[3], "standard error", "", "", w.Stderr.String())
	t.Logf("%d replies, each searched for %d canaries: %d cells; %d canaries were shown to somebody who may see them", replies, len(canaries), replies*len(canaries), len(shown))
	if len(shown) < len(canaries)/4 {
		t.Errorf("only %d of %d canaries were shown to anybody: the matrix sees too little", len(shown), len(canaries))
	}
}

// A principal of another tenant reaches no operation of this one, whatever it says it is.
func TestNeighbour(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "main")
	nc, subjects := w.conns["elsewhere/neighbour"], contract(t)
	heard, err := nc.SubscribeSync("_INBOX.>")
	must(t, err)
	for i, name := range sorted(operations) {
		must(t, nc.PublishRequest(strings.NewReplacer("{tenant}", "main", "{agent}", "neighbour").Replace(subjects[name]), fmt.Sprintf("_INBOX.neighbour.%d", i), []byte("{}")))
	}
	// Each round trip of its own comes after what was published before it.
	if text := ask(nc, "log.v1.elsewhere.head", map[string]any{}); !strings.Contains(text, "checkpoint") && !strings.Contains(text, "code") {
		t.Errorf("its own tenant answers it %q", text)
	}
	for {
		m, err := heard.NextMsg(200 * time.Millisecond)
		if err != nil {
			break
		}
		if strings.HasPrefix(m.Subject, "_INBOX.neighbour.") && m.Header.Get("Status") != "503" {
			t.Errorf("an answer from the other tenant: %s %s", m.Header, m.Data)
		}
	}
	if text := w.listen(t, nc, "main")(); strings.Contains(text, "prov.v1.main.") {
		t.Errorf("it reads the other tenant's ledger: %.300s", text)
	}
}

// bodies are those of the operation; one a state for those that follow words.
func (w *world) bodies(name string, q question) []any {
	if !slices.Contains(asksWords, name) {
		return operations[name](q)
	}
	var list []any
	for i := range states {
		if share(i, 4) {
			q.words = shared + " " + states[i].name
			list = append(list, operations[name](q)...)
		}
	}
	return list
}

// packsOf lets the writer and an internal principal ask, and returns the ids of their packs.
func (w *world) packsOf(t *testing.T, ids []string) []string {
	t.Helper()
	var packs []string
	for _, i := range []int{0, 2, 5} {
		p := &principals[i]
		q := question{words: shared, from: p.from(), tenant: "main", ids: ids}
		text := ask(w.conn(p, "main"), "ctx.v1.main.request", operations["context_request"](q)[0])
		payload, ok := reply(t, text)["payload"].(map[string]any)
		if !ok {
			t.Fatalf("no pack: %.600s", text)
		}
		packs = append(packs, payload["pack_id"].(string))
	}
	return packs
}

func get(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	return string(body)
}

func sorted[V any](m map[string]V) []string {
	list := make([]string, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}
