package fault

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/test/parts"
	"satchel/test/testenv/natstest"
	"satchel/worker/erasure"
)

// retained is what the log of a tenant says of retention.
type retained struct {
	erased   map[string]int // erasures by item
	most     int            // items of one erasure
	open     int            // erasures without a receipt
	recorded int
}

func retainedOf(t *testing.T, log *eventlog.Log, tenant string) retained {
	t.Helper()
	r := retained{erased: map[string]int{}}
	for _, e := range readAll(t, log, system(t, tenant)) {
		var er schemas.MemoryErased
		switch {
		case e.Type == schemas.TypeMemoryRecorded:
			r.recorded++
		case e.Type != schemas.TypeMemoryErased || e.Source != erasure.SourceRetention:
		case json.Unmarshal(e.Data, &er) != nil:
			t.Fatalf("position %d is no erasure", e.Position)
		case er.Receipt != nil:
			r.open--
		default:
			r.open++
			r.most = max(r.most, len(er.Items))
			for _, item := range er.Items {
				r.erased[item]++
			}
		}
	}
	return r
}

// TestRetentionOfTwoWorkers: two workers start with classes of which everything is due. One of them is killed
// in the middle of its run. Each item is erased, in one erasure, soon, and has a receipt.
func TestRetentionOfTwoWorkers(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	f, r, tenants := newFleet(t, 2, natstest.Config{}), newRecord(), tenantsOf(3)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const items = 600
	for _, tenant := range tenants {
		p := r.producer(f.front, 1)
		p.tenant = tenant
		for range items {
			if !p.publish(ctx, p.item()) {
				t.Fatal("an event was not published in time")
			}
		}
		p.nc.Close()
	}
	log := openLog(t, f.workers[0].dir, f.database)
	each := func(ok func(retained) bool) func() bool {
		return func() bool {
			for _, tenant := range tenants {
				if !ok(retainedOf(t, log, tenant)) {
					return false
				}
			}
			return true
		}
	}
	poll(t, 3*time.Minute, "every event is in the log", each(func(r retained) bool { return r.recorded == items }))
	for _, w := range f.workers {
		w.stop()
	}
	file := filepath.Join(t.TempDir(), "retention.yaml")
	must(t, os.WriteFile(file, []byte("classes: [{name: short, keep: 1ms, then: erase}]"), 0o600))
	env := "SATCHEL_RETENTION=" + file
	first, second := f.workers[0], f.workers[1]
	first.start(t, env, "SATCHEL_FAILPOINT=erase.after_commit:2") // perhaps it ends before it is up
	poll(t, 3*time.Minute, "the first worker ends in its run", func() bool { return !first.up() || first.ended() })
	if !second.start(t, env) {
		t.Fatalf("the second worker did not start:\n%s", second.said(t))
	}
	if !first.start(t, env) {
		t.Fatalf("the first worker did not start again:\n%s", first.said(t))
	}
	poll(t, 3*time.Minute, "every item is erased and every erasure has a receipt", each(func(r retained) bool { return len(r.erased) == items && r.open == 0 }))
	for _, tenant := range tenants {
		r := retainedOf(t, log, tenant)
		for item, n := range r.erased {
			if n != 1 {
				t.Errorf("%s: %s was erased %d times", tenant, item, n)
			}
		}
		if r.most > 256 {
			t.Errorf("%s: one erasure has %d items", tenant, r.most)
		}
	}
	for _, w := range f.workers {
		if said := w.said(t); strings.Contains(said, "erase what retention keeps no longer") {
			t.Errorf("a run failed:\n%s", said)
		}
		w.stop()
	}
	must(t, log.VerifyAll(t.Context(), nil))
}
