package growth_test

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/jetstream/cloudevent"
	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction"
	"satchel/pipeline/compaction/blob"
	"satchel/pipeline/isolation"
	"satchel/pipeline/isolation/roles"
	"satchel/pipeline/language"
	"satchel/pipeline/model/static"
	"satchel/pipeline/pack"
	"satchel/pipeline/pack/assembly"
	"satchel/pipeline/pack/template"
	"satchel/pipeline/passage"
	"satchel/pipeline/pii"
	"satchel/pipeline/relevance"
	"satchel/pipeline/selection/defend"
	"satchel/pipeline/selection/defend/injection"
	"satchel/pipeline/selection/filter"
	"satchel/pipeline/selection/rank"
	"satchel/pipeline/store/vector"
	"satchel/pipeline/token"
	"satchel/pipeline/write"
	"satchel/schemas"
	"satchel/test/growth"
)

// Whatever reads texts that principals write takes work in proportion to them.
func TestWorkGrowsWithTheText(t *testing.T) {
	growth.Check(t, personal(t))
	growth.Check(t, indexed(t))
	growth.Check(t, decoded())
	growth.Check(t, shown(t))
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// itemOf is an item with the text, as JSON where it is some.
func itemOf(text string) schemas.MemoryItem {
	content := schemas.TextContent(text)
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') && json.Valid([]byte(text)) {
		content = schemas.JSONContent(json.RawMessage(text))
	}
	return schemas.MemoryItem{ID: "a", Kind: schemas.KindMemory, Type: schemas.Semantic, Content: content, Speaker: "Ada", SecurityLabel: []string{"level:public"}}
}

// candidates are an item with the text and two with its halves.
func candidates(kind schemas.Kind, text string) []candidate.Candidate {
	list := make([]candidate.Candidate, 0, 3)
	for i, part := range []string{text, text[:len(text)/2], text[len(text)/2:]} {
		m := itemOf(strings.ToValidUTF8(part, "?"))
		m.ID, m.Kind = fmt.Sprint("item", i), kind
		v := candidate.NewVisible(&schemas.Record{MemoryItem: m, Position: int64(i + 1)}, false)
		c := candidate.New(&v, schemas.Verdict{Allow: true})
		c.SetScore(.9)
		list = append(list, c)
	}
	return list
}

// members is JSON content of the words of a text, a list of objects.
func members(text string) schemas.Content {
	type member struct {
		A []map[string][]string `json:"a"`
	}
	var list []member
	for i := 0; i+24 <= len(text); i += 24 {
		list = append(list, member{A: []map[string][]string{{"b": {strings.ToValidUTF8(text[i:i+24], "?")}}}})
	}
	raw, err := json.Marshal(list)
	if err != nil || len(list) == 0 {
		return schemas.TextContent(text)
	}
	return schemas.JSONContent(raw)
}

// personal are the detectors of personal data and what hides it.
func personal(t *testing.T) []growth.Function {
	key := must[pii.Pseudonyms](t)(pii.NewPseudonyms(make([]byte, 32)))
	detector := func() *pii.Detector {
		return must[*pii.Detector](t)(pii.New(pii.Config{Types: pii.Types(), Regions: []string{"DE"}}))
	}
	by := func(read func(d *pii.Detector, text string)) func(text string) func() {
		return func(text string) func() {
			d := detector() // it remembers texts
			return func() { read(d, text) }
		}
	}
	z := pii.NewSanitizer(detector(), key, nil)
	const wild = "$.content[*].a[*].b[*]"
	flagged := func(flags []string, kind string) func(text string) func() {
		return func(text string) func() {
			r := schemas.Record{MemoryItem: itemOf(text)}
			r.Content = members(text)
			return func() { z.Apply("main", &r, flags, schemas.Obligations{PII: kind}) }
		}
	}
	var many, ways []string
	for i := range 48 {
		many = append(many, fmt.Sprintf("$.content[%d].a[0].b[0]", i))
		ways = append(ways, fmt.Sprintf("$.content[*].a[*].b[%0*d]", i+1, 0))
	}
	return []growth.Function{
		{Name: "pii.Detector.Find", Of: by(func(d *pii.Detector, text string) { d.Find(text) })},
		{Name: "pii.Detector.Find names", Of: by(func(d *pii.Detector, text string) { d.Find(text, strings.Fields(text)...) })},
		{Name: "pii.Detector.MaskJSON", Of: by(func(d *pii.Detector, text string) { d.MaskJSON([]byte(text), pii.Mark) })},
		{Name: "pii.Detector.MaskItem", Of: by(func(d *pii.Detector, text string) { m := itemOf(text); d.MaskItem(&m, pii.Mark) })},
		{Name: "pii.Sanitizer.Mask", Of: by(func(d *pii.Detector, text string) {
			_, _ = io.Copy(io.Discard, pii.NewSanitizer(d, key, nil).Mask(strings.NewReader(text)))
		})},
		{Name: "pii.Sanitizer one flag", Of: flagged([]string{wild}, "")},
		{Name: "pii.Sanitizer flags alike", Of: flagged(slices.Repeat([]string{wild}, 48), schemas.PIIRedact)},
		{Name: "pii.Sanitizer many flags", Of: flagged(many, schemas.PIIPseudonymise)},
		{Name: "pii.Sanitizer flags of all", Of: flagged(ways, schemas.PIIRedact)},
		{Name: "pii.Sanitizer speaker", Run: func(text string) {
			r := schemas.Record{MemoryItem: itemOf(text)}
			r.Speaker = text[:len(text)/8]
			z.Apply("main", &r, []string{"$.speaker"}, schemas.Obligations{})
		}},
		{Name: "pii.Sanitizer summarise", Run: func(text string) {
			r := schemas.Record{MemoryItem: itemOf(text)}
			z.Apply("main", &r, nil, schemas.Obligations{Summarise: 100})
		}},
		{Name: "pii.MissedFlag", Of: func(text string) func() {
			content := members(text)
			return func() { pii.MissedFlag(content, ways) }
		}},
		{Name: "isolation.Public", Of: func(text string) func() {
			r := schemas.Record{MemoryItem: itemOf(text)}
			r.Content, r.PIIFlags = members(text), ways
			r.Facets = r.MemoryItem.Facets()
			return func() { isolation.Public("main", z, &r) }
		}},
		{Name: "write.Lowers", Of: func(text string) func() {
			old, now := itemOf(text), itemOf(text)
			old.Content, now.Content = members(text), members(text)
			old.PIIFlags, now.PIIFlags = many[:4], ways[:4]
			return func() { write.Lowers(&old, &now) }
		}},
	}
}

// indexed are what the indexes and ranking read texts by.
func indexed(t *testing.T) []growth.Function {
	table := must[*static.Embedder](t)(static.New())
	ranker := must[*rank.Ranker](t)(rank.New(rank.Config{Embedder: table}))
	list := []growth.Function{
		{Name: "keyword.Analyze", Run: func(text string) { language.Analyze(text) }},
		{Name: "graph.Entities", Run: func(text string) { language.Entities(text, "Ada") }},
		{Name: "graph.Mentions", Of: func(text string) func() {
			attributes, _ := json.Marshal(map[string]any{"entity": "Ada", "aliases": strings.Fields(text)})
			return func() { language.Mentions(text, text[:len(text)/8], attributes) }
		}},
		{Name: "graph.AliasKeys", Run: func(text string) { language.AliasKeys(text) }},
		{Name: "vector.ChunksOf", Run: func(text string) {
			var texts []string
			r := schemas.Record{MemoryItem: itemOf(text)}
			vector.ChunksOf(&r, schemas.SearchText(&r.MemoryItem), &texts)
		}},
		{Name: "static.Embedder", Run: func(text string) { table.EmbedInto(nil, text); table.Reads(text) }},
		{Name: "words.Tokens", Run: func(text string) { language.Tokens(text) }},
		{Name: "words.Hashes", Run: func(text string) { language.HashWords(text) }},
		{Name: "words.Content", Run: func(text string) { language.ContentWords(language.Words(text)) }},
		{Name: "rank.Ranker.Read", Run: func(text string) { ranker.Read(text, text, schemas.QueryHybrid, nil, true, time.Unix(0, 0)) }},
		{Name: "days.Find", Run: func(text string) { language.FindTimes(text, time.Unix(0, 0)) }},
		{Name: "rank.Ranker.Terms", Run: func(text string) {
			ranker.InvalidateCaches()
			ranker.Terms(text)
		}},
		{Name: "rank.Ranker.Warm", Run: func(text string) {
			ranker.InvalidateCaches()
			v := candidates(schemas.KindMemory, text)
			ranker.Warm("main", []*candidate.Visible{v[0].Visible, v[1].Visible})
		}},
		{Name: "filter.Parse", Run: func(text string) {
			fields := strings.Fields(text)
			_, _, _ = filter.Parse("/filters", map[string]any{"kind": fields, "attributes.a": text}, time.UTC)
		}},
	}
	for _, kind := range []schemas.Kind{schemas.KindKnowledge, schemas.KindCode, schemas.KindCommit} {
		list = append(list, growth.Function{Name: "passage.Texts of " + string(kind), Run: func(text string) {
			r := schemas.Record{MemoryItem: itemOf(text)}
			r.Kind, r.Content, r.Provenance.SourceURI = kind, schemas.TextContent(text), "file:///a.md"
			passage.Texts(&r)
		}})
	}
	for _, name := range []string{token.CL100K, token.O200K} {
		counter := must[token.Counter](t)(token.New(name))
		list = append(list, growth.Function{Name: "token.Counter " + counter.Name(), Run: func(text string) {
			counter.Count(text)
			token.Truncate(counter, text, 500)
		}})
	}
	return list
}

// decoded are the decoders of what is sent.
func decoded() []growth.Function {
	event := func(text string) []byte {
		m := itemOf(text)
		m.CreatedAt = time.Unix(0, 0)
		raw, err := json.Marshal(m)
		if err != nil {
			return []byte(text)
		}
		return raw
	}
	listed := func(name, text string) []byte {
		raw, err := json.Marshal(map[string]any{name: strings.Fields(text), text: 1, "content": text})
		if err != nil {
			return nil
		}
		return raw
	}
	read := func(ready func(text string) []byte, decode func(raw []byte)) func(text string) func() {
		return func(text string) func() {
			raw := ready(text)
			return func() { decode(raw) }
		}
	}
	list := func(name string) func(text string) []byte {
		return func(text string) []byte { return listed(name, text) }
	}
	item := func(raw []byte) { schemas.DecodeMemoryItem(raw) }
	return []growth.Function{
		{Name: "schemas.DecodeMemoryItem", Of: read(event, item)},
		{Name: "schemas.DecodeMemoryItem raw", Run: func(text string) { item([]byte(text)) }},
		{Name: "schemas.DecodeMemoryItem flags", Of: read(list("pii_flags"), item)},
		{Name: "schemas.UnmarshalMemoryItem", Of: read(event, func(raw []byte) { var m schemas.MemoryItem; _ = schemas.UnmarshalMemoryItem(raw, &m) })},
		{Name: "schemas.DecodeContextRequest", Of: read(list("query"), func(raw []byte) { schemas.DecodeContextRequest(raw) })},
		{Name: "schemas.Repeated", Of: read(event, func(raw []byte) { schemas.Repeated(raw) })},
		{Name: "schemas.EachLine", Run: func(text string) {
			_ = schemas.EachLine(strings.NewReader(text), func(int, []byte, []schemas.Issue) {})
		}},
		{Name: "cloudevent.Decode", Run: func(text string) {
			_, _ = cloudevent.Decode(nats.Header{"Content-Type": {"application/cloudevents+json"}}, []byte(text))
		}},
		{Name: "cloudevent.UnescapeHeader", Run: func(text string) { _, _ = cloudevent.UnescapeHeader(text) }},
		{Name: "template.Parse", Run: func(text string) {
			_, _ = template.Parse(schemas.ContextTemplate{Name: "a", MemoryFormat: text}, "ada")
		}},
	}
}

// shown are what packing reads and writes.
func shown(t *testing.T) []growth.Function {
	classifier := must[*injection.Classifier](t)(injection.New())
	gate := must[*relevance.Gate](t)(relevance.New(relevance.Config{}))
	counter := must[token.Counter](t)(token.New(token.CL100K))
	list := []growth.Function{
		{Name: "plaintext.Shown", Run: func(text string) { language.Shown(text); language.Bare(text); language.Unsigned(text) }},
		{Name: "sentences.Split", Run: func(text string) { language.Sentences(text) }},
		{Name: "sentences.Blocks", Run: func(text string) { language.Blocks(text, 0, true); language.Blocks(text, 0, false) }},
		{Name: "pack.Sentences", Run: func(text string) { pack.Sentences(text)(func(string) bool { return true }) }},
		{Name: "pack.Plain", Run: func(text string) { pack.Plain(text); pack.Unlinked(text); pack.Unlisted(text); pack.Label(text) }},
		{Name: "pack.Fence", Run: func(text string) { pack.Fence(text) }},
		{Name: "pack.HasReference", Run: func(text string) { pack.HasReference(text) }},
		{Name: "pack.Rules.Afford", Of: func(text string) func() {
			rules := must[*pack.Rules](t)(pack.NewRules("", nil))
			return func() { rules.Afford(candidates(schemas.KindMemory, text), []int{0, 1, 2}, false) }
		}},
		{Name: "injection.Classifier.Judge", Run: func(text string) { classifier.Judge(text) }},
		{Name: "injection.Classifier.Across", Run: func(text string) { classifier.Across([]string{text, text}) }},
		{Name: "defend.Apply", Of: func(text string) func() {
			d := must[*defend.Defenses](t)(defend.New(defend.Config{}))
			return func() { d.Apply(candidates(schemas.KindMemory, text), true, time.Unix(0, 0)) }
		}},
		{Name: "relevance.Gate.Decide", Run: func(text string) { gate.Decide(relevance.Input{}.Measured(relevance.Turn{Text: text})) }},
		{Name: "roles.Plan", Run: func(text string) { roles.Plan(text, 1000) }},
		{Name: "blob.Summarise", Run: func(text string) {
			blob.Detect([]byte(text), true)
			_, _ = blob.Summarise(strings.NewReader(text), blob.Options{Query: "valve 7", Lines: 16, Output: true})
		}},
		{Name: "compaction.Shorten", Run: func(text string) {
			compaction.Shorten(candidates(schemas.KindMemory, text), compaction.Options{Query: "valve 7", Budget: 500, Counter: counter})
		}},
		{Name: "compaction.Summarise", Run: func(text string) {
			var leaves []compaction.Source
			for _, c := range candidates(schemas.KindMemory, text) {
				leaves = append(leaves, compaction.Source{Candidate: &c})
			}
			compaction.Summarise(leaves, "valve 7", 500, counter)
		}},
	}
	for _, kind := range []schemas.Kind{schemas.KindMemory, schemas.KindTool, schemas.KindCode} {
		list = append(list,
			growth.Function{Name: "pack.Builder.Build " + string(kind), Of: func(text string) func() {
				builder := must[*pack.Builder](t)(pack.New(pack.Config{}))
				return func() {
					builder.Build(pack.Request{Query: "valve 7", Budget: 1000, Limit: 10, Counter: counter}, candidates(kind, text))
				}
			}},
			growth.Function{Name: "assembly.Show " + string(kind), Run: func(text string) {
				for _, c := range candidates(kind, text) {
					assembly.Show(&c, assembly.Full, 64<<10, nil)
				}
			}})
	}
	return list
}
