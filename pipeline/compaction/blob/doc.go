// Package blob summarises what tools put out: logs, search results, JSON, tables,
// diffs and test reports.
//
// Detect finds what a blob is from its beginning; Summarise reads it once, as a
// stream, and keeps what a reader would look for first. It promises that memory stays
// bounded whatever comes (a line of a megabyte, a hundred megabytes, a string without
// an end); that every line of a summary cites the bytes it is of; that a verbatim line
// is those bytes; that the same bytes and options give the same summary; and that what
// is not shown is named with its count and size. Nothing is an error but a reader's:
// what is broken is summarised as far as it can be read.
//
//	kind     kept                                                 counted
//	log      first, last, errors with stack traces, one a template  lines of each template
//	search   title, address and best passage of each result       duplicates
//	json     shallow values, outliers, what the query names       values by path
//	table    header, first row, rows of the extremes              rows, empty cells
//	diff     changed lines under their file and hunk              files, context
//	tests    failures whole                                       passes, skips
//	text     sentences about the query, first and last            lines
//	binary   nothing                                              bytes
//
// Templates are mined by a fixed-depth tree over the tokens of a line (He et al.,
// "Drain: An Online Log Parsing Approach with Fixed Depth Tree", ICWS 2017); lines
// that differ in digits alone are known by a hash and pass it by. The parsers are this
// package's own because citations need byte offsets, which those at hand do not keep.
package blob
