package opa_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"satchel/policies/opa"
	builtin "satchel/policies/rego"
	"satchel/test/conformance/policytest"
)

// itemByItem is the built-in policy as rules for one item.
func itemByItem(t *testing.T) fs.FS {
	t.Helper()
	filter, err := fs.ReadFile(builtin.Bundle(), "filter.rego")
	if err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{
		"policy.rego": &fstest.MapFile{Data: policytest.OneByOne()},
		"filter.rego": &fstest.MapFile{Data: filter},
	}
}

// Deciding on all items at once is deciding on one after the other.
func TestSameAsItemByItem(t *testing.T) {
	t.Parallel()
	policytest.Same(t, 12, open(t, opa.Config{CacheEntries: -1}), open(t, opa.Config{Bundle: itemByItem(t), CacheEntries: -1}))
}
