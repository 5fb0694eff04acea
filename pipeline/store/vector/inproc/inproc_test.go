package inproc_test

import (
	"testing"

	"satchel/pipeline/store/vector"
	"satchel/pipeline/store/vector/inproc"
	"satchel/test/conformance/vectortest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	configs := map[string]inproc.Config{
		"memory":   {},
		"parallel": {Dimensions: 40, ParallelFrom: 2},
		"coarse":   {Dimensions: 40, CoarseFrom: 1},
		"dir":      {Dimensions: 16, SnapshotEvery: 2},
		"evicted":  {Dimensions: 8, MemoryBytes: 1}, // every call loads and writes a snapshot
	}
	for name, cfg := range configs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vectortest.Run(t, vectortest.Features{ExactMoments: name != "coarse"}, func(t *testing.T) vector.Driver {
				if name == "dir" || name == "evicted" {
					cfg := cfg
					cfg.Dir = t.TempDir()
					return open(t, cfg)
				}
				return open(t, cfg)
			})
		})
	}
}

func open(t testing.TB, cfg inproc.Config) *inproc.Index {
	t.Helper()
	if cfg.OnError == nil {
		cfg.OnError = func(tenant string, err error) { t.Errorf("tenant %s: %v", tenant, err) }
	}
	x, err := inproc.Open(cfg)
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
