package attack

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"satchel/test/parts"
)

// Three tenants hold the same, but that in one of them everything that the asker may not
// see is another: words, lengths, numbers. Each question is asked in all three, by the
// words that only the first has, too, and the replies must be the same.
func TestWhatIsHiddenMovesNothing(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	w := newWorld(t, "t-first", "t-other", "t-equal")
	asker := &principals[2]
	n := map[string]int{}
	probes := w.fillAlike(t, asker, n)
	subjects := contract(t)
	packs := map[string][]string{}
	for _, tenant := range w.tenants {
		body := operations["context_request"](question{words: shared, from: asker.from(), ids: probes.ids})[0]
		text := ask(w.conns[tenant+"/"+asker.name], subjectFor(subjects["context_request"], tenant), body)
		packs[tenant] = []string{reply(t, text)["payload"].(map[string]any)["pack_id"].(string)}
	}
	asked, differ := 0, map[string]int{}
	for i, words := range probes.words {
		for j, name := range append(slices.Clone(asksWords), "context_explain", "context_recover") {
			if !share(i+j, 12) {
				continue
			}
			q := question{words: words, from: asker.from(), ids: probes.ids[i%len(probes.ids):][:1], packs: []string{"PACK"}}
			for k, body := range operations[name](q) {
				asked++
				for _, tenant := range w.tenants { // what packs were shown counts from here on
					n[tenant] = w.settle(t, tenant, n[tenant])
				}
				replies := map[string]map[string]string{}
				for _, tenant := range w.tenants {
					raw, err := json.Marshal(body)
					must(t, err)
					one := json.RawMessage(strings.ReplaceAll(string(raw), `"PACK"`, `"`+packs[tenant][0]+`"`))
					replies[tenant] = flatten(t, ask(w.conns[tenant+"/"+asker.name], subjectFor(subjects[name], tenant), one), tenant)
				}
				for _, path := range sorted(union(replies["t-first"], replies["t-other"], replies["t-equal"])) {
					switch {
					case replies["t-first"][path] != replies["t-equal"][path]:
						if !noise.MatchString(path) {
							t.Errorf("%s %d: %s differs between equal tenants: %.100q and %.100q", name, k, path, replies["t-first"][path], replies["t-equal"][path])
						}
					case replies["t-first"][path] != replies["t-other"][path] && !noise.MatchString(path):
						leak := fmt.Sprint(name, " ", k, " ", path)
						if differ[leak]++; differ[leak] == 1 {
							t.Errorf("%s depends on what is hidden, asked %q: %.300q and %.300q", leak, words, replies["t-first"][path], replies["t-other"][path])
						}
					}
				}
			}
		}
	}
	t.Logf("%d questions in three tenants", asked)
}

// noise are the parts of replies that differ from request to request: times that the
// machine took, and how many entries the log has by then.
var noise = regexp.MustCompile(`(?i)(as_of|/positions/|latency|elapsed|duration|_ms|timings|cost|hash|sha256|digest|checksum|signature|leaf|checkpoint|proof|preimage|seed)`)

var volatile = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|[0-9a-f]{32,64}`)

// flatten returns the leaves of a reply by their paths, without ids and times of the request.
func flatten(t *testing.T, text, tenant string) map[string]string {
	t.Helper()
	header, body, _ := strings.Cut(text, "\n")
	leaves := map[string]string{"header": plain(header, tenant)}
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch x := v.(type) {
		case map[string]any:
			for k, e := range x {
				walk(path+"/"+plain(k, tenant), e)
			}
		case []any:
			leaves[path+"#"] = fmt.Sprint(len(x))
			for i, e := range x {
				walk(fmt.Sprint(path, "/", i), e)
			}
		default:
			leaves[path] = plain(fmt.Sprint(x), tenant)
		}
	}
	walk("", v)
	return leaves
}

func plain(text, tenant string) string {
	return strings.ReplaceAll(volatile.ReplaceAllString(text, "*"), tenant, "TENANT")
}

func union(list ...map[string]string) map[string]bool {
	all := map[string]bool{}
	for _, m := range list {
		for k := range maps.Keys(m) {
			all[k] = true
		}
	}
	return all
}

// probes are questions by words that one tenant alone has, hidden from the asker.
type probes struct{ ids, words []string }

// fillAlike fills the tenants, so that t-other differs in what is hidden from the asker.
func (w *world) fillAlike(t *testing.T, asker *principal, events map[string]int) probes {
	t.Helper()
	var p probes
	for _, tenant := range w.tenants {
		w.words = rand.New(rand.NewPCG(24, 11))
		n := 0
		for i := range states {
			st := &states[i]
			for _, kind := range kinds {
				item, secrets := w.item("TENANT", st, kind)
				if tenant == "t-other" {
					item = alter(t, item, secrets, asker)
				} else if tenant == "t-first" {
					p.ids = append(p.ids, item["id"].(string))
					p.words = append(p.words, asks(secrets, asker)...)
				}
				item["scope"].(map[string]any)["tenant"] = tenant
				n = w.record(t, tenant, st, item, n)
			}
		}
		events[tenant] = w.settle(t, tenant, n)
	}
	return p
}

// asks returns questions by what is hidden of an item.
func asks(secrets map[string]secret, asker *principal) []string {
	for _, word := range sorted(secrets) {
		if s := secrets[word]; !s.allowed(asker, "") && (s.hidden || s.field == "Content") {
			return []string{word, shared + " " + word}
		}
	}
	return nil
}

// alter replaces every word that is hidden from the asker, and makes a hidden item longer and of other weight.
func alter(t *testing.T, item map[string]any, secrets map[string]secret, asker *principal) map[string]any {
	t.Helper()
	raw, err := json.Marshal(item)
	must(t, err)
	text, whole := string(raw), true
	for word, s := range secrets {
		if s.allowed(asker, "") {
			whole = false
		} else {
			text = strings.ReplaceAll(text, word, "xyz"+word[:6]+"qqv"+word[8:])
		}
	}
	var changed map[string]any
	must(t, json.Unmarshal([]byte(text), &changed))
	if content, ok := changed["content"].(string); ok && whole {
		changed["content"] = content + " The orchard has a quarry, the quarry has a ledger of its own."
		changed["importance"], changed["confidence"], changed["sensitivity"] = .9, .4, .6
	}
	return changed
}
