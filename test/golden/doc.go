// Package golden holds rankings and texts to what they were. The ranking is of a generated corpus of talk, tools,
// code and commits, questions with labels: a committed file has each question's recall, nDCG and best items. The texts are
// what each operation prints over notes, a conversation and a repository, at three budgets. A change of either shows as a
// change of these files; the tests fail until they are written anew on purpose:
//
//	SATCHEL_GOLDEN=write SATCHEL_TEST_REQUIRE=long go test ./test/golden
//
// Everything here was written for Satchel; nothing is taken from a data set.
package golden
