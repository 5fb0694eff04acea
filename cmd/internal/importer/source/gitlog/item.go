package gitlog

import (
	"encoding/json"
	"fmt"
	"time"

	"satchel/cmd/internal/importer/source"
	"satchel/schemas"
)

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

// Item returns a commit of the repository called repo as a memory item: the message is
// its content, the commit time its created_at, and its parents what it follows.
func (c *Commit) Item(repo, tenant string, labels []string) (schemas.MemoryItem, error) {
	raw, err := c.attributes(repo)
	if err != nil {
		return schemas.MemoryItem{}, fmt.Errorf("encode commit %q: %w", c.SHA, err)
	}
	text := c.Message
	if text == "" {
		text = "(no message)"
	}
	item := schemas.MemoryItem{ID: ItemID(c.SHA), Type: schemas.Episodic, Kind: schemas.KindCommit, Scope: schemas.MemoryScope{Tenant: tenant},
		CreatedAt: c.Committed, SecurityLabel: labels, Content: schemas.TextContent(text), Attributes: raw,
		Provenance: schemas.Provenance{SourceURI: "git:" + repo + "@" + c.SHA}}
	for _, parent := range c.Parents[:min(len(c.Parents), schemas.MaxLinks)] {
		item.Links = append(item.Links, schemas.Link{Rel: schemas.RelFollows, To: ItemID(parent)})
	}
	return item, nil
}

// attributes encodes as many files as there is room for.
func (c *Commit) attributes(repo string) ([]byte, error) {
	author, _ := source.Cut(c.Author, 200)
	subject, _ := source.Cut(c.Subject(), 500)
	a := attributes{Repo: repo, Date: c.Date, Subject: subject, Merge: len(c.Parents) > 1, Binary: c.Binary, MessageCut: c.Cut,
		CommitAttributes: schemas.CommitAttributes{SHA: c.SHA, Author: author, Timestamp: c.Authored.Format(time.RFC3339), Insertions: c.Insertions, Deletions: c.Deletions}}
	if c.CameIn != c.Date {
		a.Committed = c.CameIn
	}
	for n := len(c.Files); ; n /= 2 {
		a.FilesChanged, a.Renames = nil, nil
		for _, f := range c.Files[:n] {
			a.FilesChanged = append(a.FilesChanged, f.Path)
			if f.From != "" {
				a.Renames = append(a.Renames, f.From+" => "+f.Path)
			}
		}
		if n < c.FilesTotal {
			a.FilesTotal = c.FilesTotal
		}
		raw, err := json.Marshal(a)
		if err != nil || len(raw) <= maxAttributes || n == 0 {
			return raw, err
		}
	}
}
