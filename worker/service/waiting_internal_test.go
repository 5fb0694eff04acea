package service

import (
	"fmt"
	"path/filepath"
	"testing"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/sqlite"
	"satchel/schemas"
)

// TestWaitsAreBounded: of one principal and of one tenant only so many calls wait, others find
// places beside them, and nothing is left when all have gone.
func TestWaitsAreBounded(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	driver, err := sqlite.OpenLog(ctx, sqlite.LogConfig{Path: filepath.Join(t.TempDir(), "log.db")})
	if err != nil {
		t.Fatal(err)
	}
	log, err := eventlog.New(eventlog.Config{Driver: driver})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	waits := newEntryWaits(log)
	as := func(payer, tenant, id string) (<-chan found, func(), bool) {
		t.Helper()
		s, err := scope.System(tenant)
		if err != nil {
			t.Fatal(err)
		}
		logged, leave, ok, err := waits.enterWait(WithPayer(ctx, payer), s, eventKey{"src", id})
		if err != nil {
			t.Fatal(err)
		}
		return logged, leave, ok
	}
	enter := func(tenant, id string) (<-chan found, func(), bool) { return as("flood", tenant, id) }
	var all []func()
	first, leave, _ := enter("acme", "e")
	all = append(all, leave)
	for range maxPrincipalWaits - 1 {
		_, leave, ok := enter("acme", "e")
		if !ok {
			t.Fatalf("%d calls wait, and no more may", len(all))
		}
		all = append(all, leave)
	}
	if _, _, ok := enter("acme", "e"); ok {
		t.Error("more calls wait than may")
	}
	for _, payer := range []string{"agent", ""} {
		_, leave, ok := as(payer, "acme", "e")
		if !ok {
			t.Fatalf("a call of %q may not wait beside those of another principal", payer)
		}
		all = append(all, leave)
	}
	for i := range maxTenantWaits - maxPrincipalWaits - 2 {
		_, leave, ok := as(fmt.Sprint("p", i%8), "acme", "e")
		if !ok {
			t.Fatalf("%d calls wait, and no more may", len(all))
		}
		all = append(all, leave)
	}
	if _, _, ok := as("agent", "acme", "e"); ok {
		t.Error("more calls of a tenant wait than may")
	}
	other, leave, ok := enter("globex", "e")
	if !ok {
		t.Fatal("another tenant's call may not wait")
	}
	all = append(all, leave)
	for _, tenant := range []string{"globex", "acme"} {
		if _, err := log.Append(ctx, eventlog.Batch{Drafts: []eventlog.Draft{{Tenant: tenant, Agent: "a", Type: schemas.TypeMemoryAccessed, Source: "src", ID: "e", Data: []byte(`{}`)}}}); err != nil {
			t.Fatal(err)
		}
	}
	if f := <-first; f.err != nil || f.entry.Tenant != "acme" || f.entry.ID != "e" {
		t.Errorf("found %+v", f)
	}
	if f := <-other; f.err != nil || f.entry.Tenant != "globex" {
		t.Errorf("found %+v", f)
	}
	for _, leave := range all {
		leave()
	}
	if len(waits.places.taken) != 0 || len(waits.tenants) != 0 {
		t.Errorf("left: %v calls, %d tenants", waits.places.taken, len(waits.tenants))
	}
}
