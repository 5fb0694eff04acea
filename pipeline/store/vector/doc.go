// Package vector is the port of semantic search: cosine similarity over the chunks of a
// tenant's items, for one embedding model.
//
// It owns the Index interface, the type Vectors that is in front of every Driver and
// checks what is asked, and Split, which cuts a text into chunks. Drivers are in its
// sub-folders and pass vectortest.Run. Selection searches it, the projector feeds it, and
// it can be thrown away at any time: the log rebuilds it.
//
// # What an index promises
//
//   - Every call checks its scope and reaches that tenant only. The same id may exist in
//     any number of tenants.
//   - Apply MUST be idempotent by position: a change at or below the checkpoint is
//     skipped, and the checkpoint moves with the changes it covers. A change's removals
//     come before its put. What Apply took is visible to the next Search when it returns.
//   - Remove MUST leave alone what was put after the position it is told, and MUST NOT move the
//     checkpoint. What it took out does not come back by a change that Apply skips.
//   - The score of an item is the greatest cosine of its chunks on the query's axis, and
//     the hit's span is that chunk's (the first one's of equal chunks). An item without a
//     chunk on the axis is not there for the query; a chunk with a zero vector scores 0.
//   - Search MUST return the best hits first, equal scores in the order of their ids, at
//     most Limit of them and only items that pass the filter. Score MUST return for an id
//     exactly what Search would. The zero vector finds nothing: no hits, every score 0.
//   - ScoreChunks MUST return for an id every chunk that Score takes the greatest of.
//   - SearchEach, where a driver has it, MUST return what Search does under each filter;
//     Vectors has it over every driver.
//   - Mean, SD (of the population) and N are those of the scores of every item that is
//     there for the query and passes the filter, however many hits were asked for. A
//     driver that cannot see all of them samples, and says so in its features.
//   - Digest MUST depend on the items alone, not on how they got there: a rebuilt index
//     has the digest of the live one.
//   - An index holds vectors of one model. One that is opened for another model, or for
//     another dimension, MUST be empty at checkpoint 0, so that the projector fills it.
package vector

// Version numbers what an index holds of an item beside its vectors. A stored index of another
// version is rebuilt.
const Version = 2
