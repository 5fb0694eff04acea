package golden

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"satchel/schemas"
)

// Question is a labelled question.
type Question struct {
	ID       string
	Category string
	Text     string
	Relevant []string
}

// Corpus is what is indexed and asked.
type Corpus struct {
	Items     []schemas.MemoryItem
	Questions []Question
}

// deed is something somebody did: as they tell it, as it is asked in the same words,
// and as it is asked in others.
type deed struct{ told, asked, other string }

func deeds() []deed {
	return []deed{
		{"I adopted a beagle from the shelter in %s", "adopt a beagle", "get a puppy"},
		{"I signed the lease for a studio in %s", "sign the lease for a studio", "rent an apartment"},
		{"I sold my old motorbike to a mechanic in %s", "sell the motorbike", "get rid of the vehicle"},
		{"I baked a rye loaf with my aunt in %s", "bake a rye loaf", "make bread with a relative"},
		{"I passed the sailing exam at the harbour of %s", "pass the sailing exam", "become licensed to steer a boat"},
		{"I broke my wrist on the ice rink in %s", "break a wrist", "get injured while skating"},
		{"I started night shifts at the hospital in %s", "start night shifts", "begin working late as a nurse"},
		{"I painted a mural for the school in %s", "paint a mural", "decorate a wall for children"},
		{"I repaired the telescope with a lens from %s", "repair the telescope", "fix the stargazing device"},
		{"I planted plum trees behind the cabin near %s", "plant plum trees", "grow fruit in the garden"},
		{"I lost my passport on the ferry to %s", "lose a passport", "misplace travel documents"},
		{"I sang in the choir at the cathedral of %s", "sing in the choir", "perform music in a church"},
		{"I wrote a chapter of the novel in a café in %s", "write a chapter of the novel", "work on the book"},
		{"I ran the half marathon along the river in %s", "run the half marathon", "finish a long race on foot"},
		{"I interviewed for the archive job in %s", "interview for the archive job", "apply for work at a library"},
		{"I taught my nephew to ride a bicycle in %s", "teach a nephew to ride a bicycle", "help a boy learn cycling"},
	}
}

func places() []string {
	return []string{"Porto", "Tromso", "Ljubljana", "Cork", "Turin", "Gdansk", "Malmo", "Ghent", "Split", "Bilbao", "Aarhus", "Graz"}
}

func people() []string { return []string{"Nadia", "Piotr", "Imani", "Quentin"} }

// small are the turns between.
func small() []string {
	return []string{
		"That is lovely, how was the weather in %s?", "I know %s well, my cousin used to live there.", "Did you take pictures?",
		"Tell me more when we meet in %s.", "I was so tired that day, I slept until noon.", "We should all go to %s together one day!",
		"Haha, that sounds just like you.", "Nobody told me about it.", "I have been thinking about a dog, or a boat, or both.",
		"My week was dull: meetings, laundry and rain.", "What do you want for dinner?", "The train to %s was late again.",
	}
}

// first is when the talk begins.
func first() time.Time { return time.Date(2025, 2, 3, 18, 0, 0, 0, time.UTC) }

// New makes the corpus; it is the same every time.
func New() Corpus {
	var c Corpus
	c.talk(rand.New(rand.NewPCG(20260131, 7)))
	c.tools()
	c.code()
	c.commits()
	return c
}

func (c *Corpus) add(m schemas.MemoryItem) {
	m.Scope.Tenant, m.SecurityLabel = Tenant, []string{"level:public"}
	if m.Type == "" {
		m.Type = schemas.Episodic
	}
	c.Items = append(c.Items, m)
}

func (c *Corpus) ask(category, text string, relevant ...string) {
	c.Questions = append(c.Questions, Question{fmt.Sprintf("%s-%02d", category, len(c.Questions)+1), category, text, relevant})
}

// Tenant is whose everything is.
const Tenant = "golden"

// told is a deed that was told: by whom, where, when and in which item.
type told struct {
	deed  int
	who   string
	place string
	at    time.Time
	id    string
}

// talk makes sessions in which each of the people tells of deeds among small talk, and
// asks for them. Two people do each deed, at different places, so that words alone do
// not tell them apart.
func (c *Corpus) talk(r *rand.Rand) {
	ds, ps := deeds(), people()
	var all []told
	for i := range ds {
		for k := range 2 {
			all = append(all, told{deed: i, who: ps[(i+k*(1+i%3))%len(ps)], place: places()[(i*5+k*7)%len(places())]})
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	seq := int64(0)
	for i := range all {
		session := i / 4
		at := first().AddDate(0, 0, 11*session)
		say := func(who, text string) string {
			seq++
			id := fmt.Sprintf("turn-%03d", seq)
			c.add(schemas.MemoryItem{ID: id, Kind: schemas.KindMemory, CreatedAt: at, Session: fmt.Sprintf("talk-%02d", session), Seq: seq,
				Speaker: who, Content: schemas.TextContent(text)})
			return id
		}
		a := &all[i]
		for range 2 + r.IntN(3) {
			text := small()[r.IntN(len(small()))]
			if strings.Contains(text, "%s") {
				text = fmt.Sprintf(text, places()[r.IntN(len(places()))])
			}
			say(ps[r.IntN(len(ps))], text)
		}
		when := []string{"", " yesterday", " last week"}[r.IntN(3)]
		a.at, a.id = at, say(a.who, fmt.Sprintf(ds[a.deed].told, a.place)+when+".")
		say(ps[(i+1)%len(ps)], []string{"Really? Good for you.", "Wow, what was it like?", "And how do you feel now?"}[r.IntN(3)])
	}
	c.askTalk(ds, all)
}

func (c *Corpus) askTalk(ds []deed, all []told) {
	byDeed := map[int][]told{}
	for _, a := range all {
		byDeed[a.deed] = append(byDeed[a.deed], a)
	}
	for i := range ds {
		one, two := byDeed[i][0], byDeed[i][1]
		c.ask("words", fmt.Sprintf("Where did %s %s?", one.who, ds[i].asked), one.id)
		c.ask("other-words", fmt.Sprintf("Where did %s %s?", two.who, ds[i].other), two.id)
		c.ask("when", fmt.Sprintf("When did %s %s?", two.who, ds[i].asked), two.id)
		if i%2 == 0 {
			c.ask("both", fmt.Sprintf("Who happened to %s?", ds[i].asked), one.id, two.id)
		} else {
			c.ask("date", fmt.Sprintf("What did %s do around %s?", one.who, one.at.Format("2 January 2006")), one.id)
		}
	}
}

// tools are named, described, and have parameters.
func (c *Corpus) tools() {
	for i, t := range [][3]string{
		{"convert_currency", "Converts an amount of money from one currency to another at today's rate. Parameters: amount, from, to.", "How many euros do I get for 300 dollars?"},
		{"book_train", "Reserves a seat on a train. Parameters: departure, destination, day.", "I need a railway ticket to Vienna on Friday"},
		{"weather_forecast", "Returns temperature and rain for the next days. Parameters: city, days.", "Will it be wet in Oslo tomorrow?"},
		{"translate_text", "Translates a text into another language. Parameters: text, target_language.", "Say this sentence in Portuguese"},
		{"resize_image", "Scales a picture to a width and height. Parameters: file, width, height.", "Make this photo half as large"},
		{"schedule_meeting", "Puts a meeting into the calendars of its guests. Parameters: title, guests, start.", "Set up an appointment with Lena at three"},
		{"search_flights", "Lists flights between two airports. Parameters: origin, destination, date.", "Cheapest plane from Madrid to Rome next month"},
		{"transcribe_audio", "Turns recorded speech into text. Parameters: file, language.", "Write down what is said in this recording"},
		{"plan_route", "Finds the way between two addresses by car, bicycle or foot. Parameters: from, to, mode.", "Directions for cycling to the museum"},
		{"send_invoice", "Sends a bill to a customer and tracks its payment. Parameters: customer, amount, due.", "Charge the client for last week's work"},
		{"stock_quote", "Returns the price of a share. Parameters: ticker.", "What is a share of the railway company worth?"},
		{"find_recipe", "Suggests dishes from what is in the kitchen. Parameters: ingredients, diet.", "What can I cook with leeks and eggs?"},
	} {
		id := "tool-" + t[0]
		c.add(schemas.MemoryItem{ID: id, Kind: schemas.KindTool, Type: schemas.Procedural, CreatedAt: first().Add(time.Duration(i) * time.Hour),
			Content: schemas.TextContent(t[0] + ": " + t[1])})
		c.ask("tool", t[2], id)
	}
}

// code are functions as an import has them.
func (c *Corpus) code() {
	for i, f := range [][3]string{
		{"func parseRetryAfter(header string) (time.Duration, error)", "parses the Retry-After header as seconds or as an HTTP date", "how is the Retry-After header read"},
		{"func (p *Pool) acquireConn(ctx context.Context) (*Conn, error)", "waits for a free connection until the context ends", "get a connection from the pool"},
		{"func levenshteinDistance(a, b string) int", "counts the edits between two strings", "edit distance of two words"},
		{"func (c *LRUCache) evictOldest()", "removes the entry that was unused longest when the cache is full", "drop least recently used item"},
		{"func flattenNestedMap(in map[string]any, sep string) map[string]any", "joins the keys of nested maps with a separator", "turn nested dictionary into flat keys"},
		{"func chunkSlice[T any](in []T, size int) [][]T", "splits a slice into parts of a size, the last may be shorter", "split list into batches"},
		{"func verifySignature(key ed25519.PublicKey, message, signature []byte) bool", "checks an Ed25519 signature in constant time", "verifySignature ed25519"},
		{"func (q *Queue) requeueFailedJobs(limit int) (int, error)", "puts jobs that failed back into the queue, at most limit", "requeueFailedJobs limit"},
		{"func exponentialBackoff(attempt int, base time.Duration) time.Duration", "doubles the pause with each attempt and adds jitter", "delay between retries"},
		{"func readCSVRows(r io.Reader, visit func([]string) error) error", "reads comma separated rows one by one", "stream a spreadsheet export"},
	} {
		id := fmt.Sprintf("code-%02d", i+1)
		c.add(schemas.MemoryItem{ID: id, Kind: schemas.KindCode, Type: schemas.Semantic, CreatedAt: first().Add(time.Duration(i) * time.Hour),
			Content: schemas.TextContent(f[0] + "\n// " + f[1])})
		c.ask("code", f[2], id)
	}
}

// commits are a log by several authors, hours apart; its questions are long.
func (c *Corpus) commits() {
	authors := []string{"mara", "jonas", "lin"}
	for i, m := range [][2]string{
		{"Stop the producer before the notifier\n\nWhen the client stops, the notifier was closed first, so the producer waited for a message that never came and shutdown took thirty seconds.", "shutdown took thirty seconds because the producer waited for a message after the notifier was closed"},
		{"Add an index on jobs by state and priority\n\nFetching the next job scanned the table once it had a million rows.", "fetching the next job is slow with a million rows, add an index by state and priority"},
		{"Return an error for a truncated page header\n\nA short read was taken for an empty page and the snapshot lost data silently.", "a short read of a page header lost data silently; now it is an error"},
		{"Reduce the keep-alive interval from sixty to twenty seconds", "keep-alive interval is shorter now"},
		{"Retry uploads on status 503 with backoff\n\nThe object store throttles; one failed part used to fail the whole upload.", "one failed part failed the whole upload when the object store throttles"},
		{"Update dependencies", "which change updates dependencies"},
		{"Log the tenant of a refused request, never its text", "the text of refused requests must not be logged, only the tenant"},
		{"Fix the migration on databases with a search path\n\nTables were created in the first schema of the path instead of the one configured.", "migration creates tables in the wrong schema when a search path is set"},
	} {
		id := fmt.Sprintf("commit-%02d", i+1)
		c.add(schemas.MemoryItem{ID: id, Kind: schemas.KindCommit, Type: schemas.Episodic, CreatedAt: first().Add(time.Duration(13*i) * time.Hour),
			Session: "log", Seq: int64(i + 1), Speaker: authors[i%3], Content: schemas.TextContent(m[0])})
		c.ask("commit", m[1], id)
	}
}
