// Package rot has satchel-lab rot: it measures how the quality of packs changes with the size of the history, with the token
// budget, with where the evidence stands and with what is planted beside it.
//
// It promises that what is measured is the product: memories are published over JetStream, logged, indexed and asked for
// on a node of its own, in a temporary folder that is removed afterwards. Four plain ways to fill a budget are measured
// over the same history. Equal flags give equal bytes of report, points and pictures; times are in a file of their own.
//
// facts.go makes facts and questions, history.go the history that holds them, run.go asks, score.go judges one answer,
// report.go sums up, picture.go and page.go draw, check.go compares with a report that was kept.
package rot
