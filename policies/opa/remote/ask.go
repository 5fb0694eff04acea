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

// fresh reports whether what was found may be relied on still. A document that was not
// there is looked for again after the cooldown: a server that starts answers before it has
// its bundle.
func (a *abilities) fresh(now time.Time, cooldown time.Duration) bool {
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
	err := p.guarded(ctx, func(ctx context.Context) error {
		_, err := p.probe(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("probe policy: %w: %w", policies.ErrUnavailable, err)
	}
	return nil
}

func (p *PDP) probe(ctx context.Context) (abilities, error) {
	before := p.cache.state()
	batch, hasBatch, err := p.client.has(ctx, batched, []byte(probeInput))
	if err != nil {
		return abilities{}, err
	}
	if hasBatch {
		if _, err := parseBatch(batch.result, 0); err != nil {
			hasBatch = false
		}
	}
	_, hasFilter, err := p.client.has(ctx, filtered, []byte(probeInput))
	if err != nil {
		return abilities{}, err
	}
	if hasBatch && batch.revision != noRevision {
		p.cache.keep(before, batch.revision, time.Time{}, nil)
	}
	found := abilities{batch: hasBatch, filter: hasFilter, generation: p.cache.state().generation, at: p.now()}
	p.found.Store(&found)
	return found, nil
}

// abilities returns what the server has, asking it when that is not known. Of those who
// find at once that something has been missing for long enough, one asks.
func (p *PDP) abilities(ctx context.Context) (abilities, error) {
	found, generation, now := p.found.Load(), p.cache.state().generation, p.now()
	if found == nil || found.generation != generation {
		return p.probe(ctx)
	}
	if found.fresh(now, p.cooldown) {
		return *found, nil
	}
	again := *found
	again.at = now
	if p.found.CompareAndSwap(found, &again) {
		return p.probe(ctx)
	}
	return again, nil
}

// guarded runs f under the breaker and the timeout.
func (p *PDP) guarded(ctx context.Context, f func(context.Context) error) error {
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

// ask fills in the verdicts of all questions and returns the revision they are of.
func (p *PDP) ask(ctx context.Context, asker []byte, now time.Time, questions []*question) (string, error) {
	found, err := p.abilities(ctx)
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
	return p.each(ctx, len(questions), func(ctx context.Context, i int) (string, error) {
		r, err := p.client.post(ctx, single, singleBody(asker, now, questions[i]))
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
	return p.each(ctx, len(chunks), func(ctx context.Context, i int) (string, error) {
		r, err := p.client.post(ctx, batched, batchBody(asker, now, chunks[i]))
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

// each runs n requests, p.parallel at a time, and returns the one revision of their
// answers. It returns when all of them have ended.
func (p *PDP) each(ctx context.Context, n int, request func(ctx context.Context, i int) (string, error)) (string, error) {
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
