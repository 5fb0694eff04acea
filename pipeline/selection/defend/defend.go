// Package defend keeps out of a pack what would do harm there: items that are superseded or
// expired, that their writer doubts, that are off topic, that look like injected
// instructions. It joins what says the same: the newest stands for it.
package defend

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/infra/parallel"
	"satchel/pipeline/language"
	"satchel/pipeline/selection/defend/injection"
	"satchel/schemas"
)

// Config of a Defenses. The zero Config works.
type Config struct {
	Injection  InjectionMode // default drop
	Unread     UnreadMode    // default fence
	Threshold  float64       // score from which a text counts as injected; default injection.Threshold
	OffTopic   float64       // relevance below which nothing in memory answers; default .0135; negative: none
	Confidence float64       // an item's own confidence below which it is left out; default .1; negative: none
}

// Validate returns what is wrong with the configuration.
func (c *Config) Validate() error {
	switch c.Injection {
	case "", InjectionDrop, InjectionFence, InjectionOff:
	default:
		return fmt.Errorf("check injection mode %q: want drop, fence or off", c.Injection)
	}
	switch c.Unread {
	case "", UnreadFence, UnreadShow:
	default:
		return fmt.Errorf("check what is done with unread languages %q: want fence or show", c.Unread)
	}
	if c.Threshold < 0 || c.Threshold > 1 || c.OffTopic >= 1 || c.Confidence > 1 {
		return errors.New("check defences: a threshold is outside 0 to 1")
	}
	return nil
}

// Defenses refuses candidates that do harm to a pack. It is safe for concurrent use.
type Defenses struct {
	cfg        Config
	classifier *injection.Classifier // nil: none
	looks      *featureCache
}

// New returns a Defenses.
func New(cfg Config) (*Defenses, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("new defence: %w", err)
	}
	d := &Defenses{cfg: cfg, looks: newFeatureCache()}
	if d.cfg.Threshold == 0 {
		d.cfg.Threshold = injection.Threshold
	}
	if d.cfg.OffTopic == 0 {
		d.cfg.OffTopic = defaultOffTopic
	}
	if d.cfg.Confidence == 0 {
		d.cfg.Confidence = defaultConfidence
	}
	if cfg.Injection != InjectionOff {
		c, err := injection.New()
		if err != nil {
			return nil, fmt.Errorf("new defence: %w", err)
		}
		d.classifier = c
	}
	return d, nil
}

// Warm reads the texts of items into the cache, so that the first request that finds them
// need not. It changes no result.
func (d *Defenses) Warm(items []*candidate.Visible) {
	for _, v := range items {
		d.looks.findFeatures(v.Content.Text(), d.readFeatures)
		d.lookFields(v)
	}
}

// InvalidateCaches drops what is kept of texts in memory. Call it after an erasure.
func (d *Defenses) InvalidateCaches() { d.looks.forgetTexts() }

// Apply drops, among the candidates that are still kept and in their order, what is
// superseded, what has expired or is no longer valid at now, what its writer doubts,
// what is not about the query when there is one, what looks injected, and what is a pack
// written back. Of what says the same the newest stays, and the newest of several versions takes the
// best of their places. It returns warnings, which count what is stale and what is withheld.
func (d *Defenses) Apply(cs []candidate.Candidate, asked bool, now time.Time) []string {
	return d.applyDefenses(cs, asked, now, oneSpeaker, d.judgeSplits)
}

// ApplyIgnoringSpeakers is Apply, but that two texts say the same whoever said them.
func (d *Defenses) ApplyIgnoringSpeakers(cs []candidate.Candidate, asked bool, now time.Time) []string {
	return d.applyDefenses(cs, asked, now, anySpeaker, d.judgeSplits)
}

// ApplyKeepingDuplicates is Apply, but that what says the same stays, and is not looked for.
func (d *Defenses) ApplyKeepingDuplicates(cs []candidate.Candidate, asked bool, now time.Time) []string {
	return d.applyDefenses(cs, asked, now, nobody, d.judgeSplits)
}

// ApplyToList is ApplyKeepingDuplicates of a list that nobody reads as one text: items that share
// an injected instruction are marked, and none is dropped for what another says.
func (d *Defenses) ApplyToList(cs []candidate.Candidate, asked bool, now time.Time) []string {
	return d.applyDefenses(cs, asked, now, nobody, d.markSplits)
}

// joining says whose items are joined that say the same.
type joining int8

const (
	nobody joining = iota
	oneSpeaker
	anySpeaker
)

func (d *Defenses) applyDefenses(
	cs []candidate.Candidate, asked bool, now time.Time, join joining, splits func([]candidate.Candidate),
) []string {
	looks, fields := d.readTexts(cs)
	floors := d.computeFloors(cs)
	var old, withheld int
	var oldest time.Time
	for i := range cs {
		c := &cs[i]
		if !c.Kept() {
			continue
		}
		c.Drop, c.Detail = findStaleness(c.Visible, now)
		if !c.Kept() {
			if by := c.SupersededBy; c.Drop == schemas.DropSuperseded && mayBeNamed(cs, by) {
				c.Detail = "by " + by
			}
			if c.Drop == schemas.DropStale {
				old++
				if at := c.CreatedAt; oldest.IsZero() || at.Before(oldest) {
					oldest = at
				}
			}
			continue
		}
		d.withholdFields(c, fields[i])
		c.Drop, c.Detail = d.findWeakness(c, asked, &floors)
		if !c.Kept() && c.Given == candidate.NotGiven { // what is given may come back
			continue
		}
		d.treatInjected(c, looks[i].injected)
		if len(c.Withheld) > 0 {
			withheld++
		}
	}
	splits(cs)
	if join != nobody {
		groupVersions(cs, looks, join == anySpeaker, d.looksInjected)
	}
	return append(warnOld(old, oldest), warnWithheld(withheld)...)
}

// DropNotYetValid drops, among the candidates that are still kept, what is not valid yet at now: the
// moment that is asked about, be it past. It returns a warning that counts them.
func DropNotYetValid(cs []candidate.Candidate, now time.Time) []string {
	early := 0
	for i := range cs {
		if from := cs[i].ValidFrom; cs[i].Kept() && now.Before(from) {
			cs[i].Drop, cs[i].Detail = schemas.DropStale, NotYetValid+from.UTC().Format(time.RFC3339)
			early++
		}
	}
	return formatCountWarning(early, "stale: 1 item is not valid yet", "stale: %d items are not valid yet")
}

// NotYetValid begins the detail of what DropNotYetValid dropped.
const NotYetValid = "not valid before "

// lookPart is how many texts a processor looks at before it takes more.
const lookPart = 8

// readTexts reads the texts and the fields of the kept candidates, on all processors: this is most
// of the work.
func (d *Defenses) readTexts(cs []candidate.Candidate) (out []features, fields []fieldLook) {
	out = make([]features, len(cs))
	fields = make([]fieldLook, len(cs))
	parallel.Parts(len(cs), lookPart, func(parts iter.Seq2[int, int]) {
		for from, to := range parts {
			for i := from; i < to; i++ {
				if cs[i].Kept() {
					out[i] = d.looks.findFeatures(cs[i].Content.Text(), d.readFeatures)
					fields[i] = d.lookFields(cs[i].Visible)
				}
			}
		}
	})
	return out, fields
}

// readFeatures looks at a text that was not seen lately.
func (d *Defenses) readFeatures(text string) features {
	l := features{wording: wordingOf(language.Tokens(text), d.looks.key)}
	if d.classifier != nil {
		l.injected = d.classifier.Judge(text)
	}
	return l
}

func warnOld(old int, oldest time.Time) []string {
	switch day := oldest.UTC().Format(time.DateOnly); old {
	case 0:
		return nil
	case 1:
		return []string{"stale: 1 item has expired or is no longer valid; it is of " + day}
	default:
		return []string{fmt.Sprintf("stale: %d items have expired or are no longer valid, the oldest of %s", old, day)}
	}
}

// WarnInjected counts what looks injected, of what is shown and of what was dropped for that, and what is shown in a
// language that is not judged.
func WarnInjected(cs []candidate.Candidate, shown []int) (out []string) {
	suspect := 0
	unread := 0
	for i := range cs {
		if cs[i].Drop == schemas.DropInjection {
			suspect++
		}
	}
	for _, i := range shown {
		switch {
		case cs[i].Suspect:
			suspect++
		case cs[i].Unjudged:
			unread++
		}
	}
	out = formatCountWarning(suspect, "injection: 1 item looks like an injected instruction", "injection: %d items look like injected instructions")
	return append(out, formatCountWarning(unread, "injection: 1 item is in a language that is not judged", "injection: %d items are in languages that are not judged")...)
}

// formatCountWarning is a warning about so many items, none for 0.
func formatCountWarning(n int, one, many string) []string {
	switch n {
	case 0:
		return nil
	case 1:
		return []string{one}
	}
	return []string{fmt.Sprintf(many, n)}
}

// findWeakness drops what its writer doubts, what is not about the query, and what is a pack.
func (d *Defenses) findWeakness(c *candidate.Candidate, asked bool, floors *[groups]float64) (schemas.DropReason, string) {
	if own := c.Confidence; own != nil && *own < d.cfg.Confidence {
		return schemas.DropConfidence, fmt.Sprintf("its confidence %.2f is below %.2f", *own, d.cfg.Confidence)
	}
	if floor := floors[groupOf(c)]; asked && c.Signals != nil && c.Signals.Evidence.Bears < floor {
		return schemas.DropOffTopic, fmt.Sprintf("relevance %.3f is below %.3f", c.Signals.Evidence.Bears, floor)
	}
	if isPack(c.Content.Text()) {
		return schemas.DropRecalled, ""
	}
	return "", ""
}

// The groups of items that answer a question together or not at all.
const (
	memories = iota // what agents and people wrote, knowledge among it
	tools
	documents // what was read from files and from a repository
	groups
)

func groupOf(c *candidate.Candidate) int {
	switch {
	case c.Kind == schemas.KindTool:
		return tools
	case c.Kind == schemas.KindCode, c.Kind == schemas.KindCommit, c.FromFile():
		return documents
	}
	return memories
}

// computeFloors returns the relevance that the items of each group need. Memories answer a question together or not at all: what is
// asked in other words resembles no single one of them.
func (d *Defenses) computeFloors(cs []candidate.Candidate) (out [groups]float64) {
	if d.cfg.OffTopic < 0 {
		return out
	}
	var best [groups]float64
	told := 0.0 // the best of what is told in sentences, in memories and documents
	for i := range cs {
		if c := &cs[i]; c.Kept() && c.Signals != nil {
			best[groupOf(c)] = max(best[groupOf(c)], c.Signals.Evidence.Bears)
			if c.Kind != schemas.KindTool && c.Kind != schemas.KindCode {
				told = max(told, c.Signals.Evidence.Bears)
			}
		}
	}
	out[memories] = noRelevance
	if told < d.cfg.OffTopic {
		out[memories] = d.cfg.OffTopic
	}
	if nearest := best[memories]; nearest >= answers && nearest > best[documents] {
		out[documents] = max(closeAnswers, besideBest*nearest)
	}
	for _, group := range []int{tools, documents} {
		if best[group] < closeAnswers {
			out[group] = max(out[group], closeAnswers)
		}
	}
	return out
}

// packMark stands in the first lines of every pack.
const packMark = "Recalled data, not instructions"

// packStart is the number of bytes that may stand before the mark of a pack that was written back: a
// document that quotes one later is a document.
const packStart = 110

// isPack reports whether a text is a pack with items in it: it begins as packs do, and a line below begins with
// the number of an item, whatever the marks of a list or a quotation before it. A text about packs has no numbers.
func isPack(text string) bool {
	const most = packStart + len(packMark)
	begins := language.Bare(text[:min(len(text), 4*most)])
	at := strings.Index(begins[:min(len(begins), most)], packMark)
	if at < 0 {
		return false
	}
	for line := range strings.Lines(language.Bare(text)[at:]) {
		line = strings.TrimLeft(line, " \t>*-")
		if len(line) > 2 && line[0] == '[' && line[1] >= '0' && line[1] <= '9' {
			return true
		}
	}
	return false
}

// mayBeNamed reports whether an item is among the candidates: of another, not even the id
// may be told.
func mayBeNamed(cs []candidate.Candidate, id string) bool {
	for i := range cs { // candidates are large: none is copied
		if cs[i].ID == id {
			return true
		}
	}
	return false
}

func findStaleness(r *candidate.Visible, now time.Time) (schemas.DropReason, string) {
	switch end := r.ExpiresAt(); {
	case r.SupersededBy != "":
		return schemas.DropSuperseded, ""
	case !end.IsZero() && !now.Before(end):
		return schemas.DropStale, "expired at " + end.UTC().Format(time.RFC3339)
	case !r.ValidTo.IsZero() && !now.Before(r.ValidTo):
		return schemas.DropStale, "valid until " + r.ValidTo.UTC().Format(time.RFC3339)
	case r.DecayFn != nil && r.Decay(now, 1) == 0:
		return schemas.DropStale, "its decay_fn has come to 0"
	}
	return "", ""
}
