package memory_test

import (
	"testing"

	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/memory"
	"satchel/test/conformance/keywordtest"
)

func TestKeywordSuite(t *testing.T) {
	t.Parallel()
	configs := map[string]memory.KeywordConfig{
		"memory":  {},
		"dir":     {SnapshotEvery: 20},
		"evicted": {MemoryBytes: 40_000}, // a tenant or two
	}
	for name, cfg := range configs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keywordtest.Run(t, keywordtest.Features{ExactBM25: true, ExactMoments: true, Batch: true, OwnAnalysis: true}, func(t *testing.T) keyword.Index {
				cfg := cfg
				if name != "memory" {
					cfg.Dir = t.TempDir()
				}
				return openKeyword(t, cfg)
			})
		})
	}
}

func openKeyword(t testing.TB, cfg memory.KeywordConfig) *memory.Keyword {
	t.Helper()
	if cfg.OnError == nil {
		cfg.OnError = func(tenant string, err error) { t.Errorf("tenant %s: %v", tenant, err) }
	}
	x, err := memory.OpenKeyword(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}
