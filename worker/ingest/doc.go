// Package ingest moves events from the stream into the log, each exactly once.
//
// The stream has partitions, and an [Appender] reads those that are this process's. A batch is
// prepared, reviewed, and committed in one transaction with the partition's checkpoint, under a fence
// that keeps a former owner out:
//
//	fetch ──► prepare ──► dead letters ──► append + checkpoint ──► acknowledge ──► trim
//
// What the log cannot take is in the dead letters before the checkpoint passes it, so that a crash
// loses nothing. The acknowledgement is only a hint. An event that policy has no verdict on waits, and
// so does its partition.
//
// A partition stops, with a [StreamChangedError], when its stream is not the one that its checkpoint
// speaks of: to go on would skip or repeat events silently. An operator then calls [AcceptStream].
package ingest
