// Package command has the verbs of the command line, one file each: a struct of flags for kong, and Run,
// which makes a request, sends it and prints the answer. Their longer help is in cmd/satchel/help.md. Printers and flags that verbs share are here too.
//
// client.go connects to a running Satchel over NATS with the credentials that the settings name, and asks it; proof.go checks
// proofs of the ledger. The demo, the importer, doctor and the measurements use both.
package command
