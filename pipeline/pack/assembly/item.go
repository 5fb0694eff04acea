package assembly

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"satchel/pipeline/candidate"
	lang "satchel/pipeline/language"
	"satchel/pipeline/pack"
	"satchel/schemas"
)

// Item is what is shown of one candidate. Its text is head, body and tail; only the body
// is ever cut, and a cut item says so and where the whole is.
type Item struct {
	ID        string
	Source    string // memory, code, experience, value or commit
	Relevance float64
	Metadata  map[string]any
	At        int   // whatever the caller knows the item by
	Versions  []int // the same of older versions, whose lines are part of it

	head, body, tail string
	note             string // after a cut body
	clipped          bool   // the body is only the beginning
	quoted           bool   // it was chosen to be shown as it is
	failure          bool
	speaks           bool // it is shown behind its speaker
	ghap             string
	files            []string // that a commit changed
	language         string   // of code, as its fence names it
}

// View is how a candidate is looked at.
type View int

// The views. Full is the source's own format; the others show what one axis of an
// experience taught, for a premortem.
const (
	Full View = iota
	Strategy
	Surprise
	RootCause
)

// Show formats a candidate. A redacted one is shown by its content alone: its attributes
// may say again what was removed. clip bounds the bytes of a text that are looked at; days are those of a zone.
func Show(r *candidate.Candidate, view View, clip int, zone *time.Location) Item {
	it := showItem(r, view, clip, zone)
	if !it.speaks {
		it.head = pack.Writer(r) + it.head
	}
	return it
}

func showItem(r *candidate.Candidate, view View, clip int, zone *time.Location) Item {
	redacted := r.Verdict.Redact
	_, source, _ := describe(Of(r.Kind))
	it := Item{ID: r.ID, Source: source, Metadata: map[string]any{"id": r.ID}}
	it.note = "*(truncated, full " + it.Source + " ID: " + makeLabel(r.ID)
	if uri := makeLabel(r.Provenance.SourceURI); uri != "" && !redacted {
		it.note += ", source: " + escapeAsterisks(uri)
	}
	it.note += ")*"
	text := r.Content.Text()
	if r.Quote != nil {
		it.quoted = true
		it.fillQuote(r, text, redacted, zone)
		return it
	}
	if len(text) > clip {
		text = strings.ToValidUTF8(text[:clip], "")
		it.clipped = true
	}
	if redacted {
		it.head = "**" + strings.ToUpper(it.Source[:min(1, len(it.Source))]) + it.Source[min(1, len(it.Source)):] + "**: "
		it.body = escapeStructure(text)
		return it
	}
	switch r.Kind {
	case schemas.KindCode:
		it.fillCode(r, text)
	case schemas.KindExperience:
		it.fillExperience(r, text, view)
	case schemas.KindValue:
		it.fillValue(r, text)
	case schemas.KindCommit:
		it.fillCommit(r, text)
	default:
		it.fillMemory(r, text, zone)
	}
	if r.Extract != nil {
		it.tail += between + it.note
	}
	if len(it.body) > clip {
		it.body = strings.ToValidUTF8(it.body[:clip], "")
		it.clipped = true
	}
	return it
}

// Quote shows the item within a fence, behind words that say that it may carry instructions.
func (it *Item) Quote() {
	fence := pack.Fence(it.Text())
	it.head = fence + "\n" + it.head
	it.tail += "\n" + fence
	it.Caution()
}

// Add puts a line below the item, as part of it.
func (it *Item) Add(line string) { it.tail += "\n" + escapeFirst(escapeStructure(line)) }

// Caution says before the item that it may carry instructions.
func (it *Item) Caution() { it.head = "*" + pack.Caution + "*\n" + it.head }

func (it *Item) fillMemory(r *candidate.Candidate, text string, zone *time.Location) {
	importance := importanceOf(r)
	category := cmp.Or(flattenText(r.Category), string(r.Type))
	it.head = "**Memory**: "
	it.body = escapeStructure(text)
	it.speaks = r.Speaker != ""
	if it.speaks {
		it.body = strings.ReplaceAll(pack.Said(r), "<!--", `<\!--`) + ": " + it.body
	}
	it.tail = "\n*Category: " + escapeAsterisks(category)
	if r.Importance != nil {
		it.tail += ", Importance: " + fourDigits(importance)
	}
	it.tail += "*"
	if !r.CreatedAt.IsZero() {
		it.tail += ", " + pack.Day(r.CreatedAt, zone)
	}
	it.Metadata = map[string]any{"id": r.ID, "category": r.Category, "importance": importance, "created_at": formatTime(r.CreatedAt)}
}

func importanceOf(r *candidate.Candidate) float64 {
	if r.Importance != nil {
		return *r.Importance
	}
	return .5
}

// fillQuote shows passages. Of a redacted item it names nothing.
func (it *Item) fillQuote(r *candidate.Candidate, text string, redacted bool, zone *time.Location) {
	switch {
	case r.Kind == schemas.KindCode && !redacted:
		it.fillCode(r, text)
		body := text
		if r.Quote.Signature != "" {
			body = r.Quote.Signature + "\n" + candidate.Ellipsis + "\n" + text
		}
		it.fenceBody(body)
		if r.Quote.Comment != "" {
			title, fence, _ := strings.Cut(it.head, "\n")
			it.head = title + "\n" + escapeStructure(r.Quote.Comment) + "\n" + fence
		}
	case r.Kind == schemas.KindCommit && !redacted:
		it.fillCommit(r, pack.Unlinked(text))
		if r.Extract != nil || len(it.files) > mostFiles {
			it.tail = ""
		}
	case r.Kind == schemas.KindMemory && !redacted:
		it.fillMemory(r, pack.Unlinked(text), zone)
		if head := makeLabel(r.Quote.Head); head != "" {
			it.head += makeCodeSpan(strings.TrimSuffix(head, " ›")) + " "
		}
		if r.Extract != nil {
			it.tail += between + it.note
		}
	default:
		it.head = "**Document** "
		it.body = withCode(text)
		if head := makeLabel(r.Quote.Head); head != "" {
			it.head += makeCodeSpan(strings.TrimSuffix(head, " ›")) + " "
		}
		if strings.HasPrefix(it.body, "```") {
			it.head = strings.TrimRight(it.head, " ") + "\n"
		}
		it.Metadata = map[string]any{"id": r.ID, "category": r.Category, "importance": importanceOf(r), "created_at": formatTime(r.CreatedAt)}
	}
	it.clipped = false
}

func (it *Item) fillCode(r *candidate.Candidate, text string) {
	a, err := r.Code()
	if err != nil {
		a = schemas.CodeAttributes{}
	}
	path := cmp.Or(a.FilePath, r.Provenance.SourceURI)
	title := cmp.Or(a.Name, a.QualifiedName)
	head := "**" + escapeAsterisks(cmp.Or(flattenText(a.UnitType), "code")) + "**"
	if title != "" {
		head += " " + makeCodeSpan(title)
	}
	where := path
	if path != "" {
		if a.StartLine > 0 {
			where += ":" + strconv.Itoa(a.StartLine)
		}
		head += " in " + makeCodeSpan(where)
		it.note = "*(truncated, see full at " + makeLabel(where) + ")*"
	}
	body := text
	if a.Signature != "" {
		body = a.Signature
		if a.Docstring != "" {
			body += "\n" + a.Docstring
		}
		it.clipped = false
	}
	it.head = head
	it.language = cleanLanguage(a.Language)
	it.fenceBody(body)
	it.Metadata = map[string]any{
		"file_path": a.FilePath, "start_line": a.StartLine, "end_line": a.EndLine, "language": a.Language, "qualified_name": a.QualifiedName,
	}
}

// fenceBody puts code behind the first line of the head.
func (it *Item) fenceBody(body string) {
	title, _, _ := strings.Cut(it.head, "\n")
	body = strings.Trim(lang.Shown(body), "\n")
	fence := pack.Fence(body)
	it.head = title + "\n" + fence + it.language + "\n"
	it.body = strings.TrimRight(body, " \t\n")
	it.tail = "\n" + fence
}

func (it *Item) fillValue(r *candidate.Candidate, text string) {
	a, err := r.Value()
	if err != nil {
		a = schemas.ValueAttributes{}
	}
	it.head = "**Value**"
	if a.Axis != "" || a.ClusterSize > 0 {
		it.head += fmt.Sprintf(" (%s, cluster size: %d)", cmp.Or(flattenText(a.Axis), "full"), a.ClusterSize)
	}
	it.head += ":\n"
	it.body = escapeFirst(escapeStructure(text))
	it.ghap = a.GHAPID
	it.Metadata = map[string]any{
		"id": r.ID, "axis": a.Axis, "cluster_id": a.ClusterID, "cluster_size": a.ClusterSize, "similarity_to_centroid": a.SimilarityToCentroid,
	}
}

// mostFiles of a commit are named.
const mostFiles = 5

func (it *Item) fillCommit(r *candidate.Candidate, text string) {
	a, err := r.Commit()
	if err != nil {
		a = schemas.CommitAttributes{}
	}
	it.head = "**Commit**"
	if a.SHA != "" {
		it.head += " " + makeCodeSpan(a.SHA[:min(7, len(a.SHA))])
	}
	if a.Author != "" {
		it.head += " by " + makeLabel(a.Author)
	}
	at := cmp.Or(flattenText(a.Timestamp), formatTime(r.CreatedAt))
	if at != "" {
		it.head += " on " + at[:min(len(at), len(time.DateOnly))]
	}
	if _, err := time.Parse(time.DateOnly, a.Committed); err == nil {
		it.head += ", committed " + a.Committed
	}
	it.head += "\n"
	it.body = escapeFirst(escapeStructure(text))
	if len(a.FilesChanged) > 0 {
		var names []string
		for _, f := range a.FilesChanged[:min(mostFiles, len(a.FilesChanged))] {
			names = append(names, escapeAsterisks(flattenText(f)))
		}
		if more := len(a.FilesChanged) - len(names); more > 0 {
			names = append(names, "… "+strconv.Itoa(more)+" more")
		}
		it.tail = "\n*Files: " + strings.Join(names, ", ") + "*"
	}
	it.files = a.FilesChanged
	it.Metadata = map[string]any{
		"sha": a.SHA, "author": a.Author, "timestamp": at, "files_changed": a.FilesChanged, "insertions": a.Insertions, "deletions": a.Deletions,
	}
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func fourDigits(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// Text returns the whole of what the item would show.
func (it *Item) Text() string { return it.head + it.body + it.tail }

// Body returns what of the item is a text of its own, without titles and names.
func (it *Item) Body() string { return it.body }

// Failure reports whether the item is an experience of failure.
func (it *Item) Failure() bool { return it.failure }
