package opa_test

import (
	"fmt"
	"testing"
	"time"

	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/policies/opa"
	"satchel/schemas"
)

func candidates(n, profiles int) policies.Request {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r := policies.Request{Action: "read", Now: now}
	for i := range n {
		p := i % profiles
		f := schemas.Facets{
			Kind: schemas.KindMemory, Type: schemas.Episodic, Session: fmt.Sprint("s", i), Level: schemas.Level(p % 3),
			Groups: []string{fmt.Sprint("team-", p)}, Trust: 0.5 + float64(p)/1000, Signer: schemas.Unsigned, PII: p%7 == 0,
			Labels: []string{"group:team-" + fmt.Sprint(p), "level:internal", "tenant:acme"},
		}
		res := policies.Resource{ID: fmt.Sprint("item-", i), Facets: f, CreatedAt: now.Add(-time.Hour)}
		if f.PII {
			res.PIIFlags = []string{"$.content.email"}
		}
		if i%2 == 0 {
			res.ExpiresAt = now.Add(time.Duration(i+1) * time.Hour)
		}
		r.Resources = append(r.Resources, res)
	}
	return r
}

func BenchmarkDecide100(b *testing.B) {
	groups := []string{}
	for i := range 10 {
		groups = append(groups, fmt.Sprint("team-", i*10))
	}
	s, err := scope.New("acme", scope.Principal{Kind: "agent", ID: "planner", Level: 1, Groups: groups}, "support")
	if err != nil {
		b.Fatal(err)
	}
	for _, profiles := range []int{1, 10, 100} {
		for _, cache := range []int{0, -1} {
			b.Run(fmt.Sprintf("profiles=%d/cached=%t", profiles, cache == 0), func(b *testing.B) {
				p, err := opa.New(b.Context(), opa.Config{CacheEntries: cache})
				if err != nil {
					b.Fatal(err)
				}
				r := candidates(100, profiles)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Decide(b.Context(), s, r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// A principal that asks for the first time: inputs are known, verdicts are not.
func BenchmarkDecide100NewAsker(b *testing.B) {
	p, err := opa.New(b.Context(), opa.Config{})
	if err != nil {
		b.Fatal(err)
	}
	r, n := candidates(100, 100), 0
	for b.Loop() {
		n++
		s, err := scope.New("acme", scope.Principal{ID: fmt.Sprint("agent-", n), Level: 1, Groups: []string{"team-10"}}, "support")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Decide(b.Context(), s, r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFilterFresh(b *testing.B) {
	s, err := scope.New("acme", scope.Principal{Kind: "agent", ID: "planner", Level: 1}, "support")
	if err != nil {
		b.Fatal(err)
	}
	p, err := opa.New(b.Context(), opa.Config{CacheEntries: -1})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := p.Filter(b.Context(), s, "read"); err != nil {
			b.Fatal(err)
		}
	}
}
