// Package service answers requests: for context, for writes with a receipt, for heads, proofs, packs and
// their explanations, for governed exceptions and legal holds, for what an erasure would take, and for artifacts.
//
// The tenant comes from the transport and the principal from the registry; a body only claims, and a
// claim can only narrow what the registry grants. Bodies are JSON and are read strictly. Every error
// is a *schemas.Error without content and without the cause in storage. What a principal may not see
// is answered as if it were not there.
//
// A call that has to wait for the log or the indexes returns a [Wait], which the transport runs beside
// the calls that do not. An event that was published is answered with a receipt: of a lower
// level, with a warning, when the one asked for could not be waited for. The exceptions are an event that
// the log refuses, and an id that proves taken.
//
// The package knows what it asks of ingest, erasure and projection by small interfaces, and nothing but
// the worker imports it.
package service
