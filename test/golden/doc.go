// Package golden holds the ranking to what it was: a generated corpus of talk, tools,
// code and commits, questions with labels, and a committed file with each question's
// recall, nDCG and best items. A change of ranking shows as a change of that file;
// the test fails until it is written anew on purpose:
//
//	SATCHEL_GOLDEN=write go test ./test/golden
//
// Everything in the corpus is made by this package; nothing is taken from a data set.
package golden
