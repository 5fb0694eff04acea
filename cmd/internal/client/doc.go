// Package client talks to a running Satchel over NATS: it connects with the credentials that the settings name,
// sends requests, waits for the ledger stream and checks proofs. The commands use it.
package client
