package app

import (
	"fmt"
	"slices"
	"strings"

	"satchel/jetstream"
	"satchel/jetstream/embedded"
	"satchel/policies"
	"satchel/schemas"
)

// KeysOf says how many principals have a key for the embedded server.
func KeysOf(registry *policies.Registry) string {
	members := registry.Members()
	keys := 0
	for _, m := range members {
		if m.Key != "" {
			keys++
		}
	}
	if keys == len(members) {
		return fmt.Sprintf("%d principals, each with a key", keys)
	}
	return fmt.Sprintf("%d of %d principals have a key (satchel principal key NAME makes one)", keys, len(members))
}

// access describes access to the embedded server in one line.
func access(registry *policies.Registry) string {
	if registry == nil {
		return "open to this machine: without SATCHEL_PRINCIPALS any process here may act as any principal and hear every reply"
	}
	return "closed: only principals with a key and the owner of the data folder may connect; " + KeysOf(registry)
}

// embeddedPrincipals are the principals with a key, for the embedded server. Each may play
// those of the roles, which others than the worker play, that the registry grants. Nil
// without a registry.
func embeddedPrincipals(registry *policies.Registry, roles []string) []embedded.Principal {
	if registry == nil {
		return nil
	}
	list := []embedded.Principal{}
	for _, m := range registry.Members() {
		if m.Key == "" {
			continue
		}
		member := embedded.Member{Tenant: m.Tenant, ID: m.ID, Ledger: ledgerOf(&m)}
		for _, subject := range roles {
			if slices.Contains(m.Roles, subject[strings.LastIndex(subject, ".")+1:]) {
				member.Roles = append(member.Roles, strings.Replace(subject, "*", m.Tenant, 1))
			}
		}
		at := slices.IndexFunc(list, func(p embedded.Principal) bool { return p.Key == m.Key })
		if at < 0 {
			at = len(list)
			list = append(list, embedded.Principal{Key: m.Key})
		}
		list[at].Members = append(list[at].Members, member)
	}
	return list
}

// ledgerOf are the subjects of the ledger that a principal may read: drop reports and
// decisions name items that others may not see, so they are for auditors. Legal holds are for these, and
// for who places or releases them.
func ledgerOf(m *policies.Member) []string {
	holds := slices.Contains(m.Roles, "counsel") || slices.Contains(m.Roles, "hold_releaser")
	if slices.Contains(m.Roles, "auditor") {
		return []string{"prov.v1." + m.Tenant + ".>"}
	}
	var subjects []string
	for _, kind := range jetstream.LedgerKinds() {
		if kind != schemas.LedgerDrop && kind != schemas.LedgerDecision && (kind != schemas.LedgerHold || holds) {
			subjects = append(subjects, "prov.v1."+m.Tenant+"."+string(kind)+".*")
		}
	}
	return subjects
}
