package remote

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"satchel/pipeline/infra/httpclient"
)

const (
	probeText = "The quick brown fox jumps over the lazy dog."
	shortest  = 64 // bytes below which a refused text is not cut any more
)

// job is a request to be: texts and where their vectors go.
type job struct {
	texts []string
	at    []int
}

func (j job) takePart(from, to int) job { return job{texts: j.texts[from:to], at: j.at[from:to]} }

// planJobs puts what can be read of texts into requests.
func planJobs(texts []string, maxTexts, maxBytes, maxText int) []job {
	var jobs []job
	var open job
	size := 0
	for i, text := range texts {
		text = cutEmbedding(removeUnreadable(text), maxText)
		if strings.TrimSpace(text) == "" {
			continue
		}
		if n := len(open.texts); n == maxTexts || n > 0 && size+len(text) > maxBytes {
			jobs = append(jobs, open)
			open = job{}
			size = 0
		}
		open.texts = append(open.texts, text)
		open.at = append(open.at, i)
		size += len(text)
	}
	if len(open.texts) > 0 {
		jobs = append(jobs, open)
	}
	return jobs
}

// removeUnreadable leaves out what JSON or a tokenizer cannot take.
func removeUnreadable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "")
}

// cutEmbedding shortens text to at most limit bytes, between two characters.
func cutEmbedding(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// embedAllJobs makes all requests, some at a time, and puts the vectors into out.
func (e *Embedder) embedAllJobs(ctx context.Context, jobs []job, out [][]float32) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(e.cfg.Parallel)
	for _, j := range jobs {
		group.Go(func() error { return e.embedJob(ctx, j, out) })
	}
	return group.Wait()
}

// embedJob answers one job. What the endpoint does not take is halved until the text at
// fault is alone, and that one is cut until it is taken.
func (e *Embedder) embedJob(ctx context.Context, j job, out [][]float32) error {
	vectors, err := e.sendWithRetries(ctx, j.texts)
	var f *failure
	switch {
	case err == nil:
		for i, at := range j.at {
			out[at] = vectors[i]
		}
		e.texts.Add(int64(len(j.at)))
		return nil
	case !errors.As(err, &f) || !f.refused:
		return err
	case len(j.texts) > 1:
		half := len(j.texts) / 2
		if err := e.embedJob(ctx, j.takePart(0, half), out); err != nil {
			return err
		}
		return e.embedJob(ctx, j.takePart(half, len(j.texts)), out)
	case len(j.texts[0]) > shortest:
		return e.embedJob(ctx, job{texts: []string{cutEmbedding(j.texts[0], len(j.texts[0])/2)}, at: j.at}, out)
	}
	if _, probed := e.sendWithRetries(ctx, []string{probeText}); probed != nil {
		return err // it takes nothing: the model or a parameter is at fault, not the text
	}
	e.unreadable.Add(1)
	return nil
}

// sendWithRetries sends one request and tries again what may pass.
func (e *Embedder) sendWithRetries(ctx context.Context, texts []string) (vectors [][]float32, err error) {
	tries := int64(0)
	err = httpclient.Retry{Max: e.cfg.Retries, Pause: e.cfg.RetryMin, Random: e.cfg.Random}.Do(ctx, func() (err error) {
		tries++
		if tries > 1 {
			e.retries.Add(1)
		}
		vectors, err = e.sendWithinLimits(ctx, texts)
		return err
	}, func(err error) (time.Duration, bool) {
		var f *failure
		if !errors.As(err, &f) {
			return 0, false
		}
		return f.after, f.passing
	})
	return vectors, err
}

// errNoTime is the cause when the rate limit leaves no time for a request.
var errNoTime = errors.New("no time")

// sendWithinLimits sends one request within the rate limit, the breaker and the timeout.
func (e *Embedder) sendWithinLimits(ctx context.Context, texts []string) (vectors [][]float32, err error) {
	err = e.breaker.Do(func() (err error) {
		if e.limiter.Wait(ctx) != nil {
			return &failure{message: "the rate limit leaves no time for the request", cause: errNoTime}
		}
		limited, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
		defer cancel()
		vectors, err = e.postTexts(limited, texts)
		return err
	}, func(err error) httpclient.Outcome {
		var f *failure
		switch {
		case ctx.Err() != nil, errors.Is(err, errNoTime):
			return httpclient.Unknown
		case errors.As(err, &f) && f.passing:
			return httpclient.Failed
		}
		return httpclient.Answered // if only to refuse
	})
	if errors.Is(err, httpclient.ErrOpen) {
		err = &failure{message: "the embedding endpoint failed too often and is left alone for now"}
	}
	return vectors, err
}
