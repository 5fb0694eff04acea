// Package encoder embeds text with a sentence encoder that is part of the binary:
// all-MiniLM-L6-v2, a BERT-type model of 6 layers, 384 dimensions and 22 million parameters.
//
// There is no model server, no file and no C library. A vector is what the published model
// makes of a text, the mean of its last layer with length one, at a cosine of at least .99 and
// of .999 on average: weights and activations are quantised to 8 bits. The folder
// test/encoderref has the model in floats, the program that converts it, and the checks
// against ONNX Runtime; NOTICE at the top of the repository has source and licence.
//
// # Promises
//
// The same text gets the same bits on every machine, alone or in any batch, with any number of
// threads. The kernels (AVX2, AVX-512 VNNI, plain Go elsewhere) are proved equal: integer sums
// are exact, and floats are rounded and added up in one order.
//
// The weights, 22.5 MiB, are used where the binary has them. On Linux their pages are mapped from
// the file and read when they are needed. Each thread at work has 4 MiB of its own, kept for
// the next call.
//
// The build tag noencoder leaves the model out. [Open] then fails with [ErrNotIncluded].
//
// # What is read
//
// Texts are cut into pieces as BERT's uncased tokenizer does it. The first 254 pieces count
// unless [Config] says otherwise, and the names of special tokens in a text are text. A word of
// more than 100 characters is unknown. A text without a known piece gets the zero vector. The
// vocabulary and the model are English.
//
// # A pass
//
//	pieces ─► rows of their embedding ─► 6 layers ─► mean ─► length one
//
//	layer:  rows ─► queries, keys, values ─► attention ─► matrix ─► add, normalise
//	             ─► matrix to 1,536 ─► GELU ─► matrix back      ─► add, normalise
//
// Before each matrix a row is quantised to 0 to 255 with a scale and a zero of its own.
package encoder
