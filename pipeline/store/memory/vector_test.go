package memory_test

import (
	"testing"

	"satchel/pipeline/store/memory"
	"satchel/pipeline/store/vector"
	"satchel/test/conformance/vectortest"
)

func TestVectorSuite(t *testing.T) {
	t.Parallel()
	configs := map[string]memory.VectorConfig{
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
					return openVector(t, cfg)
				}
				return openVector(t, cfg)
			})
		})
	}
}

func openVector(t testing.TB, cfg memory.VectorConfig) *memory.Vector {
	t.Helper()
	if cfg.OnError == nil {
		cfg.OnError = func(tenant string, err error) { t.Errorf("tenant %s: %v", tenant, err) }
	}
	x, err := memory.OpenVector(cfg)
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
