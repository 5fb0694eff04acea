// Package bench has satchel-lab bench: it measures latency, throughput, restart, processor time and memory on a generated
// corpus.
//
// It promises that the whole product is measured: requests go over NATS, policy decides on each candidate, and the log has
// pack, drop report and decisions before each reply. It works in temporary folders, never in the data folder of the
// settings. The same seed gives the same items and questions; against.go compares two binaries in pairs, by turns.
package bench
