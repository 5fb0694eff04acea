package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"satchel/pipeline/infra/httpclient"
	"satchel/policies"
)

// errMixed is returned when the answers to one request are of several revisions.
var errMixed = errors.New("the policy changed while it was asked")

// abilities is what a probe found.
type abilities struct {
	batch, filter bool
	generation    uint64    // of the revision it was found under
	at            time.Time // when it was found, by the clock
}

// isStillFresh reports whether what was found may be relied on still. A document that was not
// there is looked for again after the cooldown: a server that starts answers before it has
// its bundle.
func (a *abilities) isStillFresh(now time.Time, cooldown time.Duration) bool {
	age := now.Sub(a.at)
	return a.batch && a.filter || age >= 0 && age < cooldown
}

// probeInput asks for nothing: no items, and what a nobody may read.
const probeInput = `{"input":{"action":"read","items":[],"now":1,"purpose":"","specialist":` +
	`{"authorizedGroups":[],"id":"probe","roles":[],"securityLevel":"public","tenant":"probe","type":"service"}}}`

// Probe finds out what the server has beside the document for one item. Until it
// succeeds, every decision begins with a probe. Another revision is probed again, and so is
// a server that lacked one, after Config.Cooldown.
func (p *PDP) Probe(ctx context.Context) error {
	err := p.runGuarded(ctx, func(ctx context.Context) error {
		_, err := p.probeAbilities(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("probe policy: %w: %w", policies.ErrUnavailable, err)
	}
	return nil
}

func (p *PDP) probeAbilities(ctx context.Context) (abilities, error) {
	before := p.cache.readState()
	batch, hasBatch, err := p.client.hasDocument(ctx, batched, []byte(probeInput))
	if err != nil {
		return abilities{}, err
	}
	if hasBatch {
		if _, err := parseBatch(batch.result, 0); err != nil {
			hasBatch = false
		}
	}
	_, hasFilter, err := p.client.hasDocument(ctx, filtered, []byte(probeInput))
	if err != nil {
		return abilities{}, err
	}
	if hasBatch && batch.revision != noRevision {
		p.cache.keepAnswers(before, batch.revision, time.Time{}, nil)
	}
	found := abilities{batch: hasBatch, filter: hasFilter, generation: p.cache.readState().generation, at: p.now()}
	p.found.Store(&found)
	return found, nil
}

// findAbilities returns what the server has, asking it when that is not known. Of those who
// find at once that something has been missing for long enough, one asks.
func (p *PDP) findAbilities(ctx context.Context) (abilities, error) {
	found := p.found.Load()
	generation := p.cache.readState().generation
	now := p.now()
	if found == nil || found.generation != generation {
		return p.probeAbilities(ctx)
	}
	if found.isStillFresh(now, p.cooldown) {
		return *found, nil
	}
	again := *found
	again.at = now
	if p.found.CompareAndSwap(found, &again) {
		return p.probeAbilities(ctx)
	}
	return again, nil
}

// runGuarded runs f under the breaker and the timeout.
func (p *PDP) runGuarded(ctx context.Context, f func(context.Context) error) error {
	return p.breaker.Do(func() error {
		limited, cancel := context.WithTimeout(ctx, p.timeout)
		defer cancel()
		return f(limited)
	}, func(err error) httpclient.Outcome {
		switch {
		case err == nil:
			return httpclient.Answered
		case ctx.Err() != nil:
			return httpclient.Unknown
		}
		p.failures.Add(1)
		return httpclient.Failed
	})
}

// askQuestions fills in the verdicts of all questions and returns the revision they are of.
func (p *PDP) askQuestions(ctx context.Context, asker []byte, now time.Time, questions []*question) (string, error) {
	found, err := p.findAbilities(ctx)
	if err != nil {
		return "", err
	}
	if found.batch {
		revision, err := p.askBatches(ctx, asker, now, questions)
		if !errors.Is(err, errUndefined) {
			return revision, err
		}
		p.found.Store(&abilities{filter: found.filter, generation: found.generation, at: p.now()})
	}
	return p.runRequests(ctx, len(questions), func(ctx context.Context, i int) (string, error) {
		r, err := p.client.askForDocument(ctx, single, singleBody(asker, now, questions[i]))
		if err != nil {
			return "", err
		}
		if questions[i].verdict, err = parseVerdict(r.result); err != nil {
			return "", fmt.Errorf("read OPA's decision: %w", err)
		}
		return r.revision, nil
	})
}

func (p *PDP) askBatches(ctx context.Context, asker []byte, now time.Time, questions []*question) (string, error) {
	batches := (len(questions) + p.batchItems - 1) / p.batchItems
	chunks := slices.Collect(slices.Chunk(questions, (len(questions)+batches-1)/batches))
	return p.runRequests(ctx, len(chunks), func(ctx context.Context, i int) (string, error) {
		r, err := p.client.askForDocument(ctx, batched, batchBody(asker, now, chunks[i]))
		if err != nil {
			return "", err
		}
		verdicts, err := parseBatch(r.result, len(chunks[i]))
		if err != nil {
			return "", fmt.Errorf("read OPA's decisions: %w", err)
		}
		for j, q := range chunks[i] {
			q.verdict = verdicts[j]
		}
		return r.revision, nil
	})
}

// runRequests runs n requests, p.parallel at a time, and returns the one revision of their
// answers. It returns when all of them have ended.
func (p *PDP) runRequests(ctx context.Context, n int, request func(ctx context.Context, i int) (string, error)) (string, error) {
	if n == 1 {
		return request(ctx, 0)
	}
	revisions := make([]string, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(p.parallel)
	for i := range n {
		group.Go(func() (err error) {
			if err = ctx.Err(); err == nil {
				revisions[i], err = request(ctx, i)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return "", err
	}
	if slices.ContainsFunc(revisions, func(r string) bool { return r != revisions[0] }) {
		return "", errMixed
	}
	return revisions[0], nil
}
