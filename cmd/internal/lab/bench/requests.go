package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"satchel/cmd/internal/command"
	"satchel/emitters"
	"satchel/jetstream"
	"satchel/schemas"
)

// idle measures requests while nothing else happens.
func (b *bencher) idle(ctx context.Context) error {
	var err error
	if err := b.warm(ctx); err != nil {
		return err
	}
	used := cpuTime()
	if b.r.Idle, err = b.runs(ctx, 0); err != nil {
		return err
	}
	b.r.RequestCPU = (cpuTime() - used).Seconds() * 1000 / float64(max(1, b.Runs)*b.Requests)
	if b.r.Repeated, err = b.runs(ctx, 0); err != nil {
		return err
	}
	b.r.RSSMiB = rss(os.Getpid())
	conn, _, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	b.r.Stages, err = askForStages(ctx, conn, b.Requests, b.question)
	return err
}

func (b *bencher) question(k int) string { return b.corpus.Question(k, b.r.Items) }

// warm asks once, so that what is loaded on first use is loaded.
func (b *bencher) warm(ctx context.Context) error {
	conn, _, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = askTimed(ctx, conn, b.question(-1))
	return err
}

// runs returns the medians of p50 and p95 over the runs, each of questions of its own, the first of
// which is numbered from.
func (b *bencher) runs(ctx context.Context, from int) (latency, error) {
	conn, _, err := b.dial(ctx)
	if err != nil {
		return latency{}, err
	}
	defer conn.Close()
	var p50, p95 []float64
	for range max(1, b.Runs) {
		var times []float64
		for range b.Requests {
			ms, err := askTimed(ctx, conn, b.question(from))
			if err != nil {
				return latency{}, err
			}
			from++
			times = append(times, ms)
		}
		l := percentiles(times)
		p50 = append(p50, l.P50)
		p95 = append(p95, l.P95)
	}
	return latency{P50: percentiles(p50).P50, P95: percentiles(p95).P50}, nil
}

// askTimed asks over NATS and decodes the reply. It returns how long that took, in milliseconds.
func askTimed(ctx context.Context, conn *command.Client, question string) (float64, error) {
	begun := time.Now()
	if _, err := askAs(ctx, conn, question); err != nil {
		return 0, err
	}
	return float64(time.Since(begun).Microseconds()) / 1000, nil
}

// askForStages asks the first n questions again, as an auditor, who alone is told of the stages of a request. It returns
// the mean of each in milliseconds. For an auditor, what policy denies is searched and decided on, too.
func askForStages(ctx context.Context, conn *command.Client, n int, question func(k int) string) (map[string]float64, error) {
	stages := map[string]float64{}
	for k := range n {
		res, err := askAs(ctx, conn, question(k), "auditor")
		if err != nil {
			return nil, err
		}
		for name, ms := range res.Payload.Explainability.Timings.Stages {
			stages[name] += ms / float64(n)
		}
	}
	return stages, nil
}

// askAs asks in a role.
func askAs(ctx context.Context, conn *command.Client, question string, role ...string) (res schemas.ContextResult, err error) {
	c := command.Ask{Question: []string{question}, PrincipalFlags: command.PrincipalFlags{As: "bench", Level: "restricted", Group: []string{"g1", "g2", "g3", "g4", "g5"}, Role: role, Purpose: "p6"},
		Budget: 2000, Limit: 20, Type: schemas.QueryHybrid}
	body, err := json.Marshal(c.Request(""))
	if err != nil {
		return res, fmt.Errorf("encode request: %w", err)
	}
	raw, err := jetstream.Request(ctx, conn.NC, "ctx.v1."+benchTenant+".request", body)
	if err != nil {
		return res, err
	}
	if err := json.Unmarshal(raw, &res); err != nil {
		return res, fmt.Errorf("decode reply: %w", err)
	}
	return res, nil
}

// searchable measures from publishing one event to every index having it.
func (b *bencher) searchable(ctx context.Context) error {
	conn, e, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var times []float64
	for range b.Requests {
		item := b.corpus.Item(b.sent)
		b.sent++
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
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	sent := 0
	done := make(chan error, 1)
	begun := time.Now()
	go func() { done <- b.feed(ctx, e, &sent) }()
	b.r.Loaded, err = b.runs(ctx, max(1, b.Runs)*b.Requests)
	took := time.Since(begun).Seconds()
	cancel()
	feedErr := <-done
	b.r.LoadedRate = float64(sent) / took
	return errors.Join(err, feedErr)
}

// feed publishes batches of a fiftieth of a second's events until ctx is done.
func (b *bencher) feed(ctx context.Context, e *emitters.Emitter, sent *int) error {
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
			items[i] = b.corpus.Item(b.sent)
			b.sent++
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
