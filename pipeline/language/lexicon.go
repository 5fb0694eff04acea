package language

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

// Class is a set of the classes of words that the files of the lexicon have. lexicon/en.yaml says what each is.
type Class uint64

// The classes, in the order of their names.
const (
	Stop Class = 1 << iota
	common
	Opener
	Asking
	small
	abbreviated
	dated
	alias
	Denial
	Supposed
	Resolved
	Over
	Failed
	Moment
	Period
	BesidePeriod
	DatedBy
	ambiguous
	smallOnly
	Greeting
	Answer
	Pleasantry
	Frequent
	Function
	Honorific
	Title
	Particle
	Thing
	People
	Copula
	Introduced
	Caller
	Relation
	Companion
	Place
	Article
	Deed
	Degree
	Phone
	Contact
	Number
	Card
	Link
	Between
	Setting
	Ordinary
	Counted
	Ending
	SurnameEnding
	SecretPhrase
	SecretPassword
	SecretToken
	SecretPIN
	SecretCode
	SecretWide
	toolAsked
	timeName // of a month or a weekday
	OnlyTime // of one, and nothing else
)

var classNames = [...]string{
	"stop", "common", "opener", "asking", "small", "abbreviation", "dated", "alias", "denial", "supposed", "resolved", "over", "failed", "moment",
	"period", "beside_period", "dated_by", "ambiguous", "small_only", "greeting", "answer", "pleasantry", "frequent", "function", "honorific", "title",
	"particle", "thing", "people", "copula", "introduced", "caller", "relation", "companion", "place", "article", "deed", "degree", "phone", "contact",
	"number", "card", "link", "between", "setting", "ordinary", "counted", "ending", "surname_ending",
	"secret_phrase", "secret_password", "secret_token", "secret_pin", "secret_code", "secret_wide", "tool_asked",
}

// Lexicon is what is known of the words of one language, or of all. It is never changed.
type Lexicon struct {
	words   map[string]Class
	lists   [64][]string // by class
	dates   map[string][]meaning
	subject []string
	cues    Cues
}

// Cues are what the wording of questions says about their answers. They are a file of SATCHEL_CUES, and the end of
// one of the lexicon.
type Cues struct {
	Language string `yaml:"language"`
	Stop     string `yaml:"stop"` // words that say nothing about a question's subject
	Many     string `yaml:"many"` // a regular expression of questions that want many items
	Cues     []Cue  `yaml:"cues"`
}

// Cue adds its weight to passages when a question matches.
type Cue struct {
	Name     string   `yaml:"name"`
	Question string   `yaml:"question"`
	Passage  string   `yaml:"passage"`
	Kinds    []string `yaml:"kinds"`
	Weight   float64  `yaml:"weight"`
}

// page is a file of the lexicon, or a document of one.
type page struct {
	Classes map[string]string `yaml:"classes"`
	Dates   map[string]any    `yaml:"dates"`
	Subject []string          `yaml:"subject"`
	Cues    `yaml:",inline"`
}

//go:embed lexicon/*.yaml
var files embed.FS

// library is the lexicons of each language, and what is made of them.
type library struct {
	all    *Lexicon // the words of all languages
	by     map[string]*Lexicon
	stops  *stopTable
	joint  *regexp.Regexp // see newJoint
	denial *regexp.Regexp // finds words that deny
	tools  *regexp.Regexp // finds words by which questions ask for a tool
}

// lexicons returns what the files say. They are read when the first text is.
var lexicons = readOnce()

func readOnce() func() *library { return sync.OnceValue(MustRead) }

// Default returns the lexicon of all languages.
func Default() *Lexicon { return lexicons().all }

// Of returns the lexicon of a language by its code, an empty one for a language that has none.
func Of(language string) *Lexicon {
	if l := lexicons().by[language]; l != nil {
		return l
	}
	return newLexicon()
}

// Languages returns the codes of the languages that the lexicon knows, in order.
func Languages() []string { return slices.Sorted(maps.Keys(lexicons().by)) }

// Denies reports whether a text has a word that denies.
func Denies(text string) bool { return lexicons().denial.MatchString(text) }

// AsksForTool reports whether a question is about what to call, or how to do something.
func AsksForTool(text string) bool { return lexicons().tools.MatchString(text) }

// Is reports whether a word or a phrase in lower case is of one of the classes.
func (l *Lexicon) Is(classes Class, word string) bool { return l.words[word]&classes != 0 }

// Classes returns all classes of a word in lower case.
func (l *Lexicon) Classes(word string) Class { return l.words[word] }

// Words returns the words of classes, in the order of the files.
func (l *Lexicon) Words(classes Class) []string {
	if classes == 0 {
		return nil
	}
	first := bits.TrailingZeros64(uint64(classes))
	classes &^= 1 << first
	if classes == 0 {
		return slices.Clip(l.lists[first])
	}
	return append(slices.Clip(l.lists[first]), l.Words(classes)...)
}

// Subject returns the patterns of words by which questions say how they ask.
func (l *Lexicon) Subject() []string { return slices.Clip(l.subject) }

// Cues returns what the wording of questions says about their answers.
func (l *Lexicon) Cues() Cues { return l.cues }

func newLexicon() *Lexicon {
	return &Lexicon{words: map[string]Class{}, dates: map[string][]meaning{}}
}

// MustRead reads the built-in files. They are part of the program, so it panics where they do not hold.
func MustRead() *library {
	l, err := readLibrary()
	if err != nil {
		panic(err)
	}
	return l
}

// readLibrary reads the built-in files.
func readLibrary() (*library, error) {
	entries, err := files.ReadDir("lexicon")
	if err != nil {
		return nil, fmt.Errorf("read lexicon: %w", err)
	}
	l := &library{all: newLexicon(), by: map[string]*Lexicon{"en": newLexicon()}}
	for _, entry := range entries {
		raw, err := files.ReadFile(path.Join("lexicon", entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read lexicon: %w", err)
		}
		if err := l.read(raw); err != nil {
			return nil, fmt.Errorf("read lexicon %s: %w", entry.Name(), err)
		}
	}
	english := l.by["en"]
	l.all.addMeaning(meaning{loose, 0}, strings.Join(english.Words(Stop), " "))
	l.all.addTimeNames()
	l.stops = tabulateStops(english.Words(Stop))
	l.joint = newJoint(english.Words(Asking))
	l.denial = regexp.MustCompile(`(?i)\b(` + strings.Join(english.Words(Denial), "|") + `|\w+n['’]t)\b`)
	l.tools = regexp.MustCompile(`(?i)\b(?:` + strings.Join(english.Words(toolAsked), "|") + `)\b`)
	return l, nil
}

// read adds the documents of a file to the lexicons of their languages and of all.
func (l *library) read(raw []byte) error {
	for decoder := yaml.NewDecoder(bytes.NewReader(raw), yaml.Strict()); ; {
		var p page
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if l.by[p.Language] == nil {
			l.by[p.Language] = newLexicon()
		}
		for _, to := range []*Lexicon{l.by[p.Language], l.all} {
			if err := to.add(&p); err != nil {
				return fmt.Errorf("language %q: %w", p.Language, err)
			}
		}
	}
}

// add adds a page.
func (l *Lexicon) add(p *page) error {
	for name, list := range p.Classes {
		at := slices.Index(classNames[:], name)
		if at < 0 {
			return fmt.Errorf("class %q is not known", name)
		}
		class := Class(1) << at
		for word := range strings.FieldsSeq(list) {
			word = strings.ReplaceAll(word, "_", " ")
			if l.words[word]&class == 0 {
				l.words[word] |= class
				l.lists[at] = append(l.lists[at], word)
			}
		}
	}
	l.subject = append(l.subject, p.Subject...)
	if len(p.Cues.Cues) > 0 {
		l.cues = p.Cues
	}
	return l.addDates(p.Dates)
}
