// Package rego holds the built-in policy bundle: the batch decision and the filter
// (package cmo.policy) and the single-item decision (package cmo.context), in Rego v1.
//
// The rules are described in package policies. The folder can be given to any OPA as
// a bundle; its tests run with "opa test" and with go test.
package rego

import "embed"

//go:embed policy.rego filter.rego wire.rego context.rego context_batch.rego context_filter.rego
var bundle embed.FS

//go:embed *.rego
var all embed.FS

// WithTests returns the built-in bundle with its tests.
func WithTests() embed.FS { return all }

// Bundle returns the built-in bundle, without its tests.
func Bundle() embed.FS { return bundle }
