// Package eval has satchel-lab eval: it measures how well Satchel finds, packs, compacts and defends, on labelled data.
//
// It promises that what is measured is the product: memories are published over JetStream, logged, indexed and asked for on
// a node of its own, in a temporary folder that is removed afterwards. It never reads or changes the data folder of the
// settings. Measures and the files of a set are in the package measure, which knows nothing of Satchel.
package eval
