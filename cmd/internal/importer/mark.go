package importer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"satchel/cmd/internal/config"
	"satchel/cmd/internal/importer/source"
	"satchel/cmd/internal/importer/source/code"
	"satchel/emitters"
	"satchel/schemas"
)

const (
	lookBack  = 64 // commits that the log is asked about for the last import
	askAtOnce = 32 // questions
)

// importMark is what the log says of an import at a commit.
type importMark struct {
	docs  bool // documentation was read, too
	clean bool // every file was as the commit has it
}

// readerVersion grows when units are read otherwise, so that files are read again.
const readerVersion = 1

// markID is the event by which an import at a commit is found in the log.
func (im *codeImport) markID(sha string, m importMark) string {
	kind := "code."
	if m.docs {
		kind = "repo."
	}
	if m.clean {
		kind += fmt.Sprintf("clean%d.", readerVersion)
	}
	of := append([]string{im.p.a.Tenant, im.did.Repo}, im.cmd.labels()...)
	return kind + source.Hash([]byte(strings.Join(of, "\x00")), 8) + "." + sha
}

// lastImport returns the commit of the last import, "" for none, and its mark: the newest of the first parents that the
// log has a mark of.
func (im *codeImport) lastImport(ctx context.Context) (string, importMark, error) {
	if im.repo == nil {
		return "", importMark{}, nil
	}
	if im.cmd.Since != "" {
		sha, err := im.repo.Resolve(ctx, im.cmd.Since)
		if err != nil {
			return "", importMark{}, config.Usagef("--since: %v", err)
		}
		return sha, importMark{docs: im.docs}, nil
	}
	chain, err := im.repo.Chain(ctx, lookBack)
	if err != nil {
		return "", importMark{}, err
	}
	type question struct {
		sha  string
		mark importMark
	}
	var all []question
	for _, sha := range chain {
		for _, m := range []importMark{{true, true}, {true, false}, {false, true}, {false, false}} { // the most first
			all = append(all, question{sha, m})
		}
	}
	for some := range slices.Chunk(all, askAtOnce) {
		found := make([]bool, len(some))
		group, asking := errgroup.WithContext(ctx)
		for i, q := range some {
			group.Go(func() (err error) {
				found[i], err = im.p.isLogged(asking, im.markID(q.sha, q.mark))
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return "", importMark{}, err
		}
		if i := slices.Index(found, true); i >= 0 {
			return some[i].sha, some[i].mark, nil
		}
	}
	return "", importMark{}, nil
}

// findUnchanged notes which files, as the newest commit has them, the last import has read.
func (im *codeImport) findUnchanged(ctx context.Context, since string, m importMark, files []string) error {
	if since == "" || !m.clean || im.cmd.All {
		return nil
	}
	differ, err := im.repo.Differ(ctx, since)
	if err != nil {
		return err
	}
	im.unchanged = map[string]bool{}
	for _, name := range files {
		im.unchanged[name] = m.docs || !source.IsDocument(name)
	}
	for _, name := range differ {
		im.unchanged[name] = false
	}
	return nil
}

// markImport records the repository itself, as of the newest commit, under an event by which the next import finds this
// one. What it says follows from the event's id.
func (im *codeImport) markImport(ctx context.Context) error {
	head, err := im.repo.Commit(ctx, im.repo.Head)
	if err != nil {
		return err
	}
	item := schemas.MemoryItem{ID: code.ItemID(im.did.Repo, ""), Type: schemas.Semantic, Kind: schemas.KindKnowledge, Scope: schemas.MemoryScope{Tenant: im.p.a.Tenant},
		CreatedAt: head.Committed, SecurityLabel: im.cmd.labels(), Category: "repository",
		Content:    schemas.TextContent(fmt.Sprintf("Files of the repository %s as of commit %s.", im.did.Repo, head.SHA)),
		Provenance: schemas.Provenance{SourceURI: "git:" + im.did.Repo + "@" + head.SHA}}
	_, err = im.p.emitter.Remember(ctx, item, &emitters.Options{EventID: im.markID(head.SHA, importMark{im.docs, im.clean && im.p.Refused == 0})})
	return err
}
