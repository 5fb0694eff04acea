package gitlog

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"satchel/cmd/internal/importer/source"
	"satchel/schemas"
)

// The limits of what is kept of one commit.
const (
	MaxFiles   = 256      // paths; the rest is counted
	MaxMessage = 64 << 10 // bytes of the message
	maxToken   = 1 << 20  // bytes of one field that git prints
)

// Commit is one commit. A merge has no changes: they are those of the commits it merges.
type Commit struct {
	SHA       string
	Parents   []string
	Author    string
	Authored  time.Time // in the zone of the author
	Date      string    // on which it was authored, where the author was: 2026-01-31; "" when git knows none
	Committed time.Time
	CameIn    string // the date on which it was committed, where the author was; "" when git knows none
	Message   string // valid UTF-8, at most MaxMessage bytes
	Cut       bool   // the message was longer
	Changes
}

// Changes are those of a commit. The counts are of all files, also of those that Files leaves out.
type Changes struct {
	Files      []File // at most MaxFiles, in git's order
	FilesTotal int
	Binary     int // files of FilesTotal whose lines git does not count
	Insertions int
	Deletions  int
}

// Subject is the first paragraph of the message, on one line.
func (c *Commit) Subject() string {
	first, _, _ := strings.Cut(c.Message, "\n\n")
	return strings.Join(strings.Fields(first), " ")
}

// File is a changed file.
type File struct {
	Path string // valid UTF-8, as it is after the commit
	From string // before a rename or copy, else ""
}

// fields of the format, each ended by NUL; the first starts with the mark.
const (
	mark   = "\x01"
	format = "--format=tformat:%x01%H%x00%P%x00%an%x00%at%x00%as%x00%ct%x00%aI%x00%B%x00"
)

// Log hands over the commits reachable from the newest and not from since ("" for all), parents before children. An
// error of yield ends it and is returned. Where the repository lacks content, as a partial clone does, the commits from
// there on have files and no counts.
func (r *Repo) Log(ctx context.Context, since string, yield func(*Commit) error) error {
	args := append([]string{"--topo-order", "--reverse"}, r.span(since)...)
	if err := r.log(ctx, args, yield); err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	return nil
}

// Commit reads one commit.
func (r *Repo) Commit(ctx context.Context, sha string) (*Commit, error) {
	var found *Commit
	err := r.log(ctx, []string{"--max-count=1", sha}, func(c *Commit) error { found = c; return nil })
	if err == nil && found == nil {
		err = ErrRevision
	}
	if err != nil {
		return nil, fmt.Errorf("read commit %q: %w", sha, err)
	}
	return found, nil
}

// log runs git log with counts, and from where that fails without them.
func (r *Repo) log(ctx context.Context, args []string, yield func(*Commit) error) error {
	done := 0
	var last *Commit // which is whole when another follows, or git ends well
	err := r.read(ctx, true, args, func(c *Commit) error {
		before := last
		last = c
		if before == nil {
			return nil
		}
		done++
		return yield(before)
	})
	var failed *exec.ExitError
	switch {
	case err == nil && last != nil:
		return yield(last)
	case ctx.Err() != nil || !errors.As(err, &failed):
		return err
	}
	return r.read(ctx, false, args, func(c *Commit) error {
		done--
		if done >= 0 {
			return nil
		}
		return yield(c)
	})
}

// read runs git log once. It takes away the changes of a commit whose parents a shallow clone lacks: git compares it
// with nothing, as though it had added every file.
func (r *Repo) read(ctx context.Context, counts bool, args []string, yield func(*Commit) error) error {
	return r.stream(ctx, func(out io.Reader) error {
		return readLog(out, counts, func(c *Commit) error {
			if r.cutOff[c.SHA] {
				c.Changes = Changes{}
			}
			return yield(c)
		})
	}, slices.Concat([]string{"log"}, logFlags(counts), args, []string{"--"})...)
}

// logFlags are those of git log, with the counts of lines or the names of files alone.
func logFlags(counts bool) []string {
	files := []string{"--name-only", "--no-renames"}
	if counts {
		files = []string{"--numstat", "--find-renames=50%", "-l1000"}
	}
	return append(files, "-z", "--no-ext-diff", "--no-textconv", "--no-mailmap", "--no-notes", "--no-color", "--diff-merges=off", "--encoding=UTF-8", format)
}

// readLog parses what git log prints with logFlags.
func readLog(out io.Reader, counts bool, yield func(*Commit) error) error {
	t := &tokens{r: bufio.NewReaderSize(out, 1<<16)}
	token, err := t.next()
	for err == nil {
		sha, ok := strings.CutPrefix(token, mark)
		if !ok {
			return fmt.Errorf("git printed %d bytes where a commit should start", len(token))
		}
		c, headErr := readHead(t, sha)
		if headErr != nil {
			return headErr
		}
		token, err = readFiles(t, c, counts)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err := yield(c); err != nil {
			return err
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// readHead reads the fields after the commit's id.
func readHead(t *tokens, sha string) (*Commit, error) {
	var f [7]string
	for i := range f {
		var err error
		f[i], err = t.next()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
	c := &Commit{SHA: sha, Parents: strings.Fields(f[0]), Author: source.Plain(f[1], ' '), Authored: readTime(f[2]), Committed: readTime(f[4])}
	if _, err := time.Parse(time.DateOnly, f[3]); err == nil {
		c.Date = f[3]
	}
	if authored, err := time.Parse(time.RFC3339, f[5]); err == nil && authored.Equal(c.Authored) {
		_, offset := authored.Zone() // a day elsewhere is no other day
		c.Authored = c.Authored.In(time.FixedZone("", offset))
		c.CameIn = c.Committed.In(c.Authored.Location()).Format(time.DateOnly)
	}
	c.Message, c.Cut = source.Cut(strings.TrimSpace(source.Clean(f[6])), MaxMessage)
	return c, nil
}

// readFiles reads the files, with their counts if counted, and returns the token after them.
func readFiles(t *tokens, c *Commit, counted bool) (string, error) {
	for {
		token, err := t.next()
		if err != nil || strings.HasPrefix(token, mark) {
			return token, err
		}
		token = strings.TrimLeft(token, "\n")
		if token == "" {
			continue
		}
		if !counted {
			c.count("0", "0", File{Path: token})
			continue
		}
		counts := strings.SplitN(token, "\t", 3)
		if len(counts) != 3 {
			return "", fmt.Errorf("git printed %d bytes where a changed file should stand", len(token))
		}
		file := File{Path: counts[2]}
		if file.Path == "" { // a rename: the two names follow
			file.From, err = t.next()
			if err == nil {
				file.Path, err = t.next()
			}
			if err != nil {
				return "", io.ErrUnexpectedEOF
			}
		}
		c.count(counts[0], counts[1], file)
	}
}

func (c *Commit) count(added, deleted string, file File) {
	c.FilesTotal++
	if added == "-" {
		c.Binary++
	}
	c.Insertions = min(c.Insertions+countLines(added), math.MaxInt32)
	c.Deletions = min(c.Deletions+countLines(deleted), math.MaxInt32)
	if len(c.Files) < MaxFiles {
		c.Files = append(c.Files, File{Path: source.Clean(file.Path), From: source.Clean(file.From)})
	}
}

// countLines reads a count; a binary file has "-", which counts nothing.
func countLines(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return max(0, n)
}

// readTime reads seconds since 1970. What lies outside the years 1970 to 9999, which only a forged or broken commit
// has, becomes 1970.
func readTime(s string) time.Time {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > 253402300799 {
		n = 0
	}
	return time.Unix(n, 0).UTC()
}

// tokens splits a stream at NUL.
type tokens struct{ r *bufio.Reader }

// next returns the next token; of one longer than maxToken it keeps the beginning. What is not ended by NUL is no
// token.
func (t *tokens) next() (string, error) {
	var b []byte
	for {
		part, err := t.r.ReadSlice(0)
		if keep := maxToken - len(b); keep > 0 {
			b = append(b, part[:min(keep, len(part))]...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return "", err
		}
		return strings.TrimSuffix(string(b), "\x00"), nil
	}
}

// maxAttributes leaves room under schemas.MaxAttributes.
const maxAttributes = schemas.MaxAttributes - 4<<10

// attributes are those of schemas.CommitAttributes and what goes beyond them.
type attributes struct {
	schemas.CommitAttributes
	Repo       string   `json:"repo"`
	Date       string   `json:"date,omitempty"` // on which it was authored, where the author was
	Subject    string   `json:"subject,omitempty"`
	Merge      bool     `json:"merge,omitempty"`       // more than one parent
	Renames    []string `json:"renames,omitempty"`     // "old => new"
	Binary     int      `json:"binary,omitempty"`      // changed files that are binary
	FilesTotal int      `json:"files_total,omitempty"` // when files_changed is cut: how many there are
	MessageCut bool     `json:"message_cut,omitempty"` // the content is the beginning of the message
}

// ItemID is the id of the item of a commit.
func ItemID(sha string) string { return "commit:" + sha }

// Item returns a commit of the repository called repo as a memory item: the message is its content, the commit time its
// created_at, and its parents what it follows.
func (c *Commit) Item(repo, tenant string, labels []string) schemas.MemoryItem {
	item := schemas.MemoryItem{ID: ItemID(c.SHA), Type: schemas.Episodic, Kind: schemas.KindCommit, Scope: schemas.MemoryScope{Tenant: tenant},
		CreatedAt: c.Committed, SecurityLabel: labels, Content: schemas.TextContent(cmp.Or(c.Message, "(no message)")), Attributes: c.attributes(repo),
		Provenance: schemas.Provenance{SourceURI: "git:" + repo + "@" + c.SHA}}
	for _, parent := range c.Parents[:min(len(c.Parents), schemas.MaxLinks)] {
		item.Links = append(item.Links, schemas.Link{Rel: schemas.RelFollows, To: ItemID(parent)})
	}
	return item
}

// attributes encodes as many files as there is room for.
func (c *Commit) attributes(repo string) json.RawMessage {
	author, _ := source.Cut(c.Author, 200)
	subject, _ := source.Cut(c.Subject(), 500)
	a := attributes{Repo: repo, Date: c.Date, Subject: subject, Merge: len(c.Parents) > 1, Binary: c.Binary, MessageCut: c.Cut,
		CommitAttributes: schemas.CommitAttributes{SHA: c.SHA, Author: author, Timestamp: c.Authored.Format(time.RFC3339), Insertions: c.Insertions, Deletions: c.Deletions}}
	if c.CameIn != c.Date {
		a.Committed = c.CameIn
	}
	for n := len(c.Files); ; n /= 2 {
		a.FilesChanged = nil
		a.Renames = nil
		for _, f := range c.Files[:n] {
			a.FilesChanged = append(a.FilesChanged, f.Path)
			if f.From != "" {
				a.Renames = append(a.Renames, f.From+" => "+f.Path)
			}
		}
		if n < c.FilesTotal {
			a.FilesTotal = c.FilesTotal
		}
		raw := source.Encode(a)
		if len(raw) <= maxAttributes || n == 0 {
			return raw
		}
	}
}
