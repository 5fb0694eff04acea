// Package passage finds, in documents, code and commits, the parts that bear on a question.
//
// It cuts an item into passages, scores each of them, and chooses the passages that a budget
// pays for. Conversations and other memories are not cut: see Of. It reads candidates that
// policy allows, after redaction and the defenses, and nothing of them besides what the principal
// may see; how common a word is, it learns from the items that the principal may see.
//
// What is known of an item alone is a pure function of the item: see Version. A Reader keeps
// that in memory for items that come again. The order of equal passages is that of their items
// and places, so the same input gives the same choice.
package passage

import "fmt"

// Version numbers the rules by which an item is cut and read. It changes when an item may give
// other passages than before.
const Version = 1

// Contents names what a vector index holds that has the vectors of passages by a model. An index of other
// contents is filled again.
func Contents(model string) string { return fmt.Sprint(model, " passages ", Version) }
