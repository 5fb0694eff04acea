package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"satchel/cmd/satchel/internal/corpus"
	"satchel/emitters"
	"satchel/jetstream"
	"satchel/schemas"
)

func (b *bencher) question() string {
	if !b.Text {
		return b.gen.Query()
	}
	return strings.Join(strings.Fields(b.gen.Query()+" "+b.gen.Query()+" ba be bi"), " ")
}

// idle measures requests while nothing else happens.
func (b *bencher) idle(ctx context.Context) error {
	var err error
	b.r.Stages = map[string]float64{}
	if err := b.warm(ctx); err != nil {
		return err
	}
	used := cpuTime()
	b.r.Idle, err = b.runs(ctx, b.r.Stages)
	b.r.RequestCPU = (cpuTime() - used).Seconds() * 1000 / float64(max(1, b.Runs)*b.Requests)
	b.r.RSSMiB = rss()
	return err
}

// warm asks once, so that what is loaded on first use is loaded.
func (b *bencher) warm(ctx context.Context) error {
	conn, _, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.close()
	_, err = b.request(ctx, conn, nil)
	return err
}

// runs returns the medians of p50 and p95 over the runs.
func (b *bencher) runs(ctx context.Context, stages map[string]float64) (latency, error) {
	conn, _, err := b.dial(ctx)
	if err != nil {
		return latency{}, err
	}
	defer conn.close()
	var p50, p95 []float64
	for range max(1, b.Runs) {
		var times []float64
		for range b.Requests {
			ms, err := b.request(ctx, conn, stages)
			if err != nil {
				return latency{}, err
			}
			times = append(times, ms)
		}
		l := percentiles(times)
		p50, p95 = append(p50, l.P50), append(p95, l.P95)
	}
	for name := range stages {
		stages[name] /= float64(max(1, b.Runs) * b.Requests)
	}
	return latency{P50: median(p50), P95: median(p95)}, nil
}

func (b *bencher) request(ctx context.Context, conn *client, stages map[string]float64) (float64, error) {
	ask := askCmd{Question: []string{b.question()}, As: "bench", Level: "restricted", Group: []string{"g1", "g2", "g3", "g4", "g5"},
		Purpose: "p6", Budget: 4000, Limit: 50, Type: schemas.QueryHybrid}
	req := ask.request()
	body, err := json.Marshal(req)
	if err != nil {
		return 0, fmt.Errorf("encode request: %w", err)
	}
	begun := time.Now()
	raw, err := jetstream.Request(ctx, conn.nc, "ctx.v1."+benchTenant+".request", body)
	ms := float64(time.Since(begun).Microseconds()) / 1000
	if err != nil || stages == nil {
		return ms, err
	}
	var res schemas.ContextResult
	if err := json.Unmarshal(raw, &res); err != nil {
		return 0, fmt.Errorf("decode reply: %w", err)
	}
	for name, v := range res.Payload.Explainability.Timings.Stages {
		stages[name] += v
	}
	stages["transport"] += ms - res.Payload.Explainability.Timings.TotalMS
	return ms, nil
}

// searchable measures from publishing one event to every index having it.
func (b *bencher) searchable(ctx context.Context) error {
	conn, e, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.close()
	var times []float64
	for range b.Requests {
		item := b.gen.Item()
		begun := time.Now()
		if _, err := e.Remember(ctx, item, &emitters.Options{Wait: schemas.ReceiptIndexed}); err != nil {
			return err
		}
		times = append(times, float64(time.Since(begun).Microseconds())/1000)
	}
	b.r.Searchable = percentiles(times)
	return nil
}

// loaded measures requests while Rate events a second arrive.
func (b *bencher) loaded(ctx context.Context) error {
	conn, e, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.close()
	ctx, cancel := context.WithCancel(ctx)
	load := corpus.New(benchTenant, b.Seed+1)
	sent := 0
	done := make(chan error, 1)
	begun := time.Now()
	go func() { done <- b.feed(ctx, e, load, &sent) }()
	b.r.Loaded, err = b.runs(ctx, nil)
	took := time.Since(begun).Seconds()
	cancel()
	feedErr := <-done
	b.r.LoadedRate = float64(sent) / took
	return errors.Join(err, feedErr)
}

// feed publishes batches of a fiftieth of a second's events until ctx is done.
func (b *bencher) feed(ctx context.Context, e *emitters.Emitter, gen *corpus.Generator, sent *int) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	batch := max(1, b.Rate/50)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		items := make([]schemas.MemoryItem, batch)
		for i := range items {
			items[i] = gen.Item()
			items[i].ID = "load-" + items[i].ID
		}
		if _, err := e.RememberAll(ctx, items); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		*sent += batch
	}
}
