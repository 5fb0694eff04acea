package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"satchel/cmd/satchel/internal/source/code"
	"satchel/emitters"
	"satchel/schemas"
)

// lookBack is how many commits are asked about for the last import of code.
const lookBack = 64

// markID is the event by which an import of code at a commit is found in the log.
func (im *codeImport) markID(sha string) string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{im.p.a.Tenant, im.did.Repo}, im.cmd.Label...), "\x00")))
	return "code." + hex.EncodeToString(sum[:8]) + "." + sha
}

// last returns the commit of the last import: the newest of the first parents that the
// log has the mark of, "" for none.
func (im *codeImport) last(ctx context.Context) (string, error) {
	if im.repo == nil {
		return "", nil
	}
	if im.cmd.Since != "" {
		sha, err := im.repo.Resolve(ctx, im.cmd.Since)
		if err != nil {
			return "", usagef("--since: %v", err)
		}
		return sha, nil
	}
	chain, err := im.repo.Chain(ctx, lookBack)
	if err != nil {
		return "", err
	}
	marked := make([]bool, len(chain))
	group, asking := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i, sha := range chain {
		group.Go(func() error {
			var err error
			marked[i], err = im.p.logged(asking, im.markID(sha))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return "", err
	}
	for i, sha := range chain {
		if marked[i] {
			return sha, nil
		}
	}
	return "", nil
}

// markImport records the repository itself, as of the newest commit, under an event by
// which the next import finds this one. What it says follows from the event's id.
func (im *codeImport) markImport(ctx context.Context) error {
	head, err := im.repo.Commit(ctx, im.repo.Head())
	if err != nil {
		return err
	}
	item := schemas.MemoryItem{ID: code.ItemID(im.did.Repo, ""), Type: schemas.Semantic, Kind: schemas.KindKnowledge, Scope: schemas.MemoryScope{Tenant: im.p.a.Tenant},
		CreatedAt: head.Committed, SecurityLabel: im.cmd.Label, Category: "repository",
		Content:    schemas.TextContent(fmt.Sprintf("Code of the repository %s as of commit %s.", im.did.Repo, head.SHA)),
		Provenance: schemas.Provenance{SourceURI: "git:" + im.did.Repo + "@" + head.SHA}}
	_, err = im.p.emitter.Remember(ctx, item, &emitters.Options{EventID: im.markID(head.SHA)})
	return err
}
