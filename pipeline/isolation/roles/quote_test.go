package roles_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/isolation/roles"
	"satchel/pipeline/language"
	"satchel/schemas"
)

// changed are facts that were written down once and otherwise later. None of the constants was chosen by them.
var changed = []struct{ before, after, question, was, is string }{
	{"The lease of the workshop in Hall 3 runs until 2027.", "Landlord agreed: workshop lease in Hall 3 until 2031.", "Until when does the lease of the workshop in Hall 3 run?", "2027", "2031"},
	{"Rita drives the night bus on line 14.", "Line 14 at night is driven by Boris these weeks.", "Who drives the night bus on line 14?", "Rita drives", "Boris"},
	{"The compressor in bay 2 is maintained by Ferro Technik.", "Bay 2 compressor: maintenance contract given to Lindner AG.", "Who maintains the compressor in bay 2?", "Ferro", "Lindner"},
	{"Nadia takes 50 mg of sertraline in the morning.", "Nadia's doctor doubled it, she takes 100 mg of sertraline.", "How much sertraline does Nadia take?", "50 mg", "100 mg"},
	{"The harvest festival begins at ten o'clock.", "The festival for the harvest begins at noon, the brass band cannot come earlier.", "When does the harvest festival begin?", "ten o'clock", "noon"},
	{"We store the sensor data in InfluxDB.", "All sensor data lives in TimescaleDB.", "Where do we store the sensor data?", "InfluxDB", "TimescaleDB"},
	{"The ferry to Amrum leaves from pier 5.", "Sign at the harbour: Amrum ferry departs from pier 2.", "From which pier does the ferry to Amrum leave?", "pier 5", "pier 2"},
	{"Tickets for the museum are 9 EUR.", "Museum tickets: 11 EUR, children free.", "How much are tickets for the museum?", "9 EUR", "11 EUR"},
	{"Professor Lund supervises Akira's thesis.", "Akira's thesis is supervised by Dr Petrov; Lund retired.", "Who supervises Akira's thesis?", "Professor Lund supervises", "Petrov"},
	{"The spare key of the boat lies under the third plank.", "I put the boat's spare key in the tin by the stove.", "Where is the spare key of the boat?", "third plank", "tin by the stove"},
	{"The team decided to write the parser in Rust.", "The team decided to write the parser in Zig.", "In which language do we write the parser?", "Rust", "Zig"},
	{"Minimum order at the printer's is 250 copies.", "The printer takes orders from 100 copies on.", "What is the minimum order at the printer's?", "250", "100"},
	{"Uncle Theo can come to the christening.", "Uncle Theo cannot come to the christening, he is in hospital.", "Can uncle Theo come to the christening?", "Theo can come", "cannot come"},
	{"The backup job starts at 01:00.", "Backup job start time: 03:30.", "At what time does the backup job start?", "01:00", "03:30"},
	{"Max speed on the test track is 80 km/h.", "The test track may be driven at 60 km/h at most since the resurfacing.", "What is the maximum speed on the test track?", "80 km/h", "60 km/h"},
	{"Carmen plays goalkeeper for the Otters.", "Carmen stands in midfield for the Otters; Ida is goalkeeper.", "Who is the goalkeeper of the Otters?", "Carmen plays goalkeeper", "Ida"},
	{"The water in the cistern is safe to drink.", "Lab report: the water in the cistern is unsafe to drink.", "Is the water in the cistern safe to drink?", "is safe", "unsafe"},
	{"Kaspar's flat has three rooms.", "Kaspar has a flat with two rooms now that he lives alone.", "How many rooms does Kaspar's flat have?", "three rooms", "two rooms"},
	{"The code review is done by the platform team.", "The code review is done by whoever is on call.", "Who does the code review?", "platform team", "on call"},
	{"The paint for the fence is Moss Green.", "We took Slate Grey as paint for the fence.", "What paint is for the fence?", "Moss Green", "Slate Grey"},
}

// crowd is notes about other things, in the words that notes have in common.
func crowd(n int) []schemas.MemoryItem {
	who := []string{"Hugo", "Selma", "Bram", "Livia", "Oskar", "Dana", "Milan", "Greta"}
	what := []string{"asked when the new chairs come", "paid the bill of the caterer", "wrote the minutes of the meeting", "is away until Monday",
		"reads the book about the comet", "ordered 20 boxes of paper", "repaired the door of the shed", "cannot find the list of guests", "takes the early train to work"}
	where := []string{"the office in Bern", "the garden club", "the quartet", "the archive", "the second floor", "the rowing team", "the bookshop"}
	list := make([]schemas.MemoryItem, n)
	for i := range list {
		text := fmt.Sprintf("%s of %s %s, number %d.", who[i%len(who)], where[i/len(who)%len(where)], what[i%len(what)], i)
		list[i] = known(fmt.Sprint("c", i), schemas.KindMemory, text)
		list[i].CreatedAt = day(i % 120)
	}
	return list
}

func day(n int) time.Time { return time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC).AddDate(0, 0, n) }

func written(id, text string, at time.Time) schemas.MemoryItem {
	item := known(id, schemas.KindMemory, text)
	item.CreatedAt = at
	return item
}

func (w *world) ask(t *testing.T, task string) schemas.RunReply {
	t.Helper()
	got, err := w.runner.Run(t.Context(), as(t, "x", schemas.Internal), schemas.RunRequest{Task: task})
	must(t, err)
	return got
}

// told is a conversation of test/talk, and its questions that have an answer in it.
func told(t *testing.T, name string) (turns []schemas.MemoryItem, questions []labelled) {
	t.Helper()
	read := func(file string, line func(raw []byte)) {
		raw, err := os.ReadFile(filepath.Join("..", "..", "..", "test", "talk", name, file))
		must(t, err)
		for l := range bytes.Lines(raw) {
			line(l)
		}
	}
	read("memories.jsonl", func(raw []byte) {
		var m struct {
			ID, Session, Speaker, Text string
			TS                         time.Time
		}
		must(t, json.Unmarshal(raw, &m))
		turns = append(turns, schemas.MemoryItem{ID: m.ID, Type: schemas.Episodic, Kind: schemas.KindMemory, Session: m.Session, Seq: int64(len(turns)),
			Speaker: m.Speaker, CreatedAt: m.TS, SecurityLabel: []string{"level:internal"}, Content: schemas.TextContent(m.Text)})
	})
	read("queries.jsonl", func(raw []byte) {
		var q labelled
		must(t, json.Unmarshal(raw, &q))
		if len(q.Relevant) > 0 {
			questions = append(questions, q)
		}
	})
	return turns, questions
}

// labelled is a question with the items that answer it.
type labelled struct {
	Text     string
	Relevant []string
}

// sections are those of Satchel's own documents.
func sections(t *testing.T) (list []schemas.MemoryItem) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "docs", "*", "*.md"))
	must(t, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		must(t, err)
		for n, text := range strings.Split(string(raw), "\n## ") {
			item := known(fmt.Sprintf("doc:%s:%d", filepath.Base(file), n), schemas.KindKnowledge, text)
			item.Provenance.SourceURI = fmt.Sprintf("file:%s:%d", filepath.Base(file), n+1)
			list = append(list, item)
		}
	}
	return list
}

// TestQuotesWhatThePackFound: the quotations are the items of the pack, best score first, and so a question in other words than
// memory's gets what answers it about as often as the pack has it, and seldom a document in its place.
func TestQuotesWhatThePackFound(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	turns, questions := told(t, "clinic-1")
	w.remember(t, slices.Concat(crowd(400), turns, sections(t))...)
	said := map[string][]string{}
	for i := range turns {
		said[turns[i].ID] = language.Analyze(turns[i].Speaker + " " + turns[i].Content.Text())
	}
	asked, shown, quoted, documents := 0, 0, 0, 0
	for _, q := range questions {
		shares := func(id string) bool {
			return slices.ContainsFunc(language.Analyze(q.Text), func(term string) bool { return slices.Contains(said[id], term) })
		}
		if slices.ContainsFunc(q.Relevant, shares) {
			continue
		}
		got := w.ask(t, q.Text)
		pack, err := w.cfg.Packs.OpenPack(t.Context(), as(t, "x", schemas.Internal), got.PackID)
		must(t, err)
		scores := map[string]float64{}
		for _, section := range pack.Payload.Pack.Sections {
			for i := range section.Items {
				scores[section.Items[i].ID] = section.Items[i].Score
			}
		}
		var cited []string
		for i := range got.Answer.Sentences {
			cited = append(cited, got.Answer.Sentences[i].Citations[0].ItemID)
		}
		if moved := strings.Contains(fmt.Sprint(got.Warnings), "a later note"); !moved && len(cited) > 2 && scores[cited[0]] < scores[cited[len(cited)-1]] {
			t.Errorf("%s: quoted %v of scores %v", q.Text, cited, scores)
		}
		answers := func(id string) bool { return slices.Contains(q.Relevant, id) }
		asked++
		if slices.ContainsFunc(slices.Collect(maps.Keys(scores)), answers) {
			shown++
		}
		if at := slices.IndexFunc(cited, answers); at >= 0 {
			quoted++
		} else if len(cited) > 0 && strings.HasPrefix(cited[0], "doc:") {
			documents++
		}
	}
	if asked < 40 || 4*quoted < asked || 10*quoted < 9*shown || 10*documents > asked {
		t.Errorf("of %d questions in other words the pack shows what answers %d; %d are quoted it, and %d a document first", asked, shown, quoted, documents)
	}
}

// TestAFewQuotationsStandForAModel: where a model gives no answer, not all of the pack that it was shown is quoted.
func TestAFewQuotationsStandForAModel(t *testing.T) {
	t.Parallel()
	var e endpoint
	w := open(t, func(cfg *roles.Config) {
		cfg.Model = e.open(t, func(string) (string, int) { return "", 500 })
	})
	turns, questions := told(t, "clinic-1")
	w.remember(t, turns...)
	got := w.ask(t, questions[0].Text)
	if n := got.Answer.Invocation.AnswerTokens; n == 0 || n > 600 || got.Metrics.TokenActual < 2*n {
		t.Errorf("%d tokens are quoted of a pack of %d", n, got.Metrics.TokenActual)
	}
}

// TestTheNewestIsGiven: of a fact that changed the newest comes first, with its day, in whatever words it is said; in a
// store of hundreds of other notes.
func TestTheNewestIsGiven(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	list := crowd(400)
	for i, c := range changed {
		list = append(list, written(fmt.Sprint("old", i), c.before, day(3*i)), written(fmt.Sprint("new", i), c.after, day(100+2*i)))
	}
	w.remember(t, list...)
	given := 0
	for i, c := range changed {
		a := w.ask(t, c.question).Answer
		at, old := strings.Index(a.Text, c.is), strings.Index(a.Text, c.was)
		if at >= 0 && (old < 0 || at < old) && a.Sentences[0].Citations[0].Where == day(100+2*i).Format("2 January 2006") {
			given++
		} else {
			t.Logf("%s %q", c.question, a.Text)
		}
	}
	if given < 18 {
		t.Errorf("the newest of %d of %d", given, len(changed))
	}
}

// TestLookAlikesAreNoChanges: of notes of one form, each about another thing, the one that is asked for comes first, and none is
// said to be a later note about the same.
func TestLookAlikesAreNoChanges(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	town := strings.Fields("Halden Moss Tromsø Ålesund Bodø Hamar Narvik Larvik Molde Skien Kragerø Drammen")
	device := strings.Fields("oven mixer freezer scale slicer proofer")
	fault := []string{"does not heat", "makes a loud noise", "shows error E4", "leaks water", "stops after ten minutes"}
	cure := []string{"We sent a new fuse.", "A technician comes on Friday.", "The gasket was replaced.", "It was reset by phone."}
	list := crowd(200)
	for n := range 60 {
		text := fmt.Sprintf("Ticket %d: the bakery in %s reports that the %s %s. %s", 4100+n, town[n%len(town)], device[n/len(town)+n%2], fault[n%len(fault)], cure[n%len(cure)])
		list = append(list, written(fmt.Sprint("t", n), text, day(2*n)))
	}
	w.remember(t, list...)
	wrong, warned := 0, 0
	for n := range 60 {
		question := fmt.Sprintf("What did the bakery in %s report about the %s that %s?", town[n%len(town)], device[n/len(town)+n%2], fault[n%len(fault)])
		if n%2 == 0 {
			question = fmt.Sprintf("What was done about ticket %d?", 4100+n)
		}
		got := w.ask(t, question)
		if len(got.Answer.Sentences) == 0 || got.Answer.Sentences[0].Citations[0].ItemID != fmt.Sprint("t", n) {
			wrong++
		}
		if strings.Contains(fmt.Sprint(got.Warnings), "a later note") {
			warned++
		}
	}
	if wrong > 3 || warned > 3 {
		t.Errorf("of 60 questions %d have another first, and %d are said to have a later note", wrong, warned)
	}
}

// TestALaterNoteIsNamed: where a later note hardly shares words with the question, the better one stays first, and a warning says
// that there is a later one.
func TestALaterNoteIsNamed(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	w.remember(t, append(crowd(200), written("a", "Project Falcon ships at the end of June.", day(1)),
		written("b", "Falcon will be shipped in September; the casting supplier failed us.", day(60)))...)
	got := w.ask(t, "When does project Falcon ship?")
	at, said := strings.Index(got.Answer.Text, "September"), strings.Join(got.Warnings, "\n")
	if at < 0 || at > strings.Index(got.Answer.Text, "June") && !strings.Contains(said, "a later note is about the same: 6 March 2026 [2]") {
		t.Errorf("answered %q with %q", got.Answer.Text, said)
	}
}

// asides are facts that share no subject, and a question for each that has no capital.
var asides = []struct{ text, question, is string }{
	{"Thordis decided to move the marlin cut-over to 14 April.", "who moved the cut-over", "14 April"},
	{"Vendor Halcyon charges 8,250 EUR for the marlin licence.", "what does Halcyon charge", "8,250"},
	{"Noor repaired the gate motor with a belt from the scrap heap.", "how was the gate motor repaired", "scrap heap"},
	{"The tram depot in Ilmenau closes at 23:15.", "when does the tram depot close", "23:15"},
	{"Birgit keeps the seed catalogue in the drawer of the blue desk.", "where is the seed catalogue", "blue desk"},
	{"Our insurance with Velia covers hail damage up to 20,000 EUR.", "how much hail damage does the insurance cover", "20,000"},
	{"Pablo teaches the sailing course on Lake Tun in August.", "who teaches the sailing course", "Pablo"},
	{"The kiln reaches 1,240 degrees after six hours.", "how hot does the kiln get", "1,240"},
}

// TestTwoQuestionsInOne: each is answered, the first by the note that answers it, whatever the other one would take.
func TestTwoQuestionsInOne(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	list := crowd(60)
	for i, x := range asides {
		list = append(list, written(fmt.Sprint("f", i), x.text, day(30+i)))
	}
	w.remember(t, list...)
	for n := range 12 {
		parts := []int{n % len(asides), (n + 1 + n/len(asides)*2) % len(asides)}
		task := asides[parts[0]].question + []string{", and ", " and "}[n%2] + asides[parts[1]].question + "?"
		a := w.ask(t, task).Answer
		for step, i := range parts {
			at := slices.IndexFunc(a.Sentences, func(s schemas.AnswerSentence) bool { return s.Step == fmt.Sprint(step+1) })
			if at < 0 || !strings.Contains(a.Sentences[at].Text, asides[i].is) {
				t.Errorf("%s step %d: %q, unanswered %v", task, step+1, a.Text, a.Unanswered)
			}
		}
	}
	a := w.ask(t, "Who moved the cut-over, and where does the zeppelin land?").Answer
	if !slices.Equal(a.Unanswered, []string{"2"}) || !strings.Contains(a.Text, "Thordis") {
		t.Errorf("answered %q, unanswered %v", a.Text, a.Unanswered)
	}
}

// TestNothingElseIsThere: the same in a store of the two notes alone.
func TestNothingElseIsThere(t *testing.T) {
	t.Parallel()
	a := answered(t, "Who moved the cut-over, and what does Halcyon charge?", known("a", schemas.KindMemory, asides[0].text), known("b", schemas.KindMemory, asides[1].text))
	if len(a.Sentences) != 2 || a.Sentences[0].Text != asides[0].text || a.Sentences[1].Text != asides[1].text || len(a.Unanswered) > 0 {
		t.Errorf("answered %q, unanswered %v", a.Text, a.Unanswered)
	}
}

// TestAnswersOfADay: asked by day, it quotes the note of that day.
func TestAnswersOfADay(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	list, now := crowd(200), time.Now().UTC()
	did := []string{"oiled the loom", "sorted the yarn", "called the dyer", "washed the wool", "counted the spindles", "mended the shuttle"}
	for i, what := range did {
		list = append(list, written(fmt.Sprint("lena", i), "Lena "+what+".", now.AddDate(0, 0, -i)))
	}
	marked := time.Date(now.Year()-1, 3, 18, 10, 0, 0, 0, time.UTC)
	list = append(list, written("march", "Lena aired the cellar.", marked), written("april", "Lena aired the loft.", marked.AddDate(0, 1, 0)))
	w.remember(t, list...)
	for question, want := range map[string]string{"What did Lena do yesterday?": did[1], fmt.Sprintf("What did Lena do on 18 March %d?", marked.Year()): "aired the cellar"} {
		if a := w.ask(t, question).Answer; len(a.Sentences) == 0 || !strings.Contains(a.Sentences[0].Text, want) {
			t.Errorf("%s answered %q", question, a.Text)
		}
	}
}

// TestTheDayComesFirst: what is of the day or the range that a question asks for, or names a day of it, is quoted before what is not,
// and the rest stays in the order of the scores. A question for what was before or after a day is about no such day.
func TestTheDayComesFirst(t *testing.T) {
	t.Parallel()
	at := time.Date(2025, 3, 18, 10, 0, 0, 0, time.UTC)
	w := open(t, nil)
	w.remember(t, append(crowd(100),
		written("before", "The sluice of the mill broke.", at.AddDate(0, 0, -1)),
		written("behind", "The wheel of the mill was mended.", at.AddDate(0, 0, 2)),
		written("on", "Hugo greased the axle of the mill.", at),
		written("names", "The roof of the mill was tiled on Tuesday.", at.AddDate(0, 0, 2)),
		written("week", "Selma swept the loft of the mill.", at.AddDate(0, 0, 13)))...)
	for question, want := range map[string][]string{
		"What happened at the mill on 18 March 2025?":                   {"on", "names"},
		"What happened at the mill on the third Tuesday of March 2025?": {"names", "on"},
		"Which part of the mill was mended on 18 March 2025?":           {"on", "names", "behind", "before", "week"},
		"Was geschah am 31. März 2025 in der mill?":                     {"week"},
		"What about the mill after 18 March 2025?":                      {"behind"},
		"What happened at the mill before 18 March 2025?":               {"before"},
	} {
		var cited []string
		for _, s := range w.ask(t, question).Answer.Sentences {
			cited = append(cited, s.Citations[0].ItemID)
		}
		if len(cited) < len(want) || !slices.Equal(cited[:len(want)], want) {
			t.Errorf("%s quoted %v, want %v first", question, cited, want)
		}
	}
}

// TestMisspelt: a question with a slip is answered by what a pack shows for it.
func TestMisspelt(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	w.remember(t, append(crowd(100), known("a", schemas.KindMemory, "The boiler inspector comes on 3 February between eight and noon."),
		known("b", schemas.KindMemory, "My blood type is A negative, says Pavel's card."))...)
	for question, want := range map[string]string{"When does the boiler inspecter come?": "3 February", "What is Pavel's bloodtype?": "A negative"} {
		if a := w.ask(t, question).Answer; !strings.Contains(a.Text, want) {
			t.Errorf("%s answered %q", question, a.Text)
		}
	}
}

// TestNoHeadingIsMadeUp: a line of a script that begins with "#", and what stands behind a gap, are quoted as the pack shows
// them, and below nothing else.
func TestNoHeadingIsMadeUp(t *testing.T) {
	t.Parallel()
	const filler = "The workshop was swept, the tools were counted and the doors were locked as on every evening of the year.\n\n"
	doc := known("doc", schemas.KindKnowledge, "# Bellows\n\nThe bellows are leather.\n\n"+strings.Repeat(filler, 12)+"## Anvil\n\n"+strings.Repeat(filler, 12)+
		"## Quench tank\n\n```sh\n# drain it first\nquench --drain\n```\n\nThe quench tank is filled with rape oil to the second mark.\n")
	doc.Provenance.SourceURI = "file:forge/manual.md:1"
	w := open(t, nil)
	w.remember(t, doc)
	got := w.ask(t, "What is the quench tank filled with?")
	for _, s := range got.Answer.Sentences {
		for _, lines := range strings.Split(s.Text, "\n…\n") {
			if !strings.Contains(doc.Content.Text(), strings.TrimPrefix(lines, "# Bellows\n")) {
				t.Errorf("%q does not stand there", lines)
			}
		}
	}
	if !strings.Contains(got.Answer.Text, "rape oil") {
		t.Errorf("answered %q", got.Answer.Text)
	}
}
