// Package schemas is the wire contract of Satchel: the CloudEvents types, the
// memory item, the context request and its result, the pack, the drop report,
// policy decisions, receipts and errors.
//
// It promises that a value which passes Validate can be written, and that every
// failing JSON pointer is named at once. JSON Schemas (2020-12) and an AsyncAPI 3
// document of the same contract are embedded; tests hold the three together.
// It imports nothing else of Satchel, so every other package may import it.
//
// The files under json and asyncapi.json follow from the Go types, their comments and
// the rules in rules_test.go: after a change run go generate ./schemas.
package schemas

//go:generate go test -run TestGenerated -update .
