// Package fit has satchel-lab fit: it fits the probability that a candidate answers a question to labelled sets, and prints
// the coefficients as Go source and a reliability diagram.
//
// It promises that what is fitted is what ships: candidates come from the indexes and the ranking of the product. It fits to
// the conversations of test/talk, which count as one set, and to the sets of a folder whose licences allow it; each set
// counts alike. A question of another set, which nothing in a set answers, takes the place of every fourth question. Labels
// are incomplete: a candidate without one that covers the question by words and by meaning counts less.
//
// store.go finds candidates, regress.go fits calibrations, chance.go chances, meaning.go tries constants.
package fit
