// Package language has what is known of written language:
//
//	plain      what a reader sees of a text
//	sentences  where sentences, blocks and questions end
//	times      which days and months a text names
//	names      whom and what a text names, and which names mean the same
//	words      words and tokens by which texts are compared
//	terms      the terms of keyword search: folding, stemming, stop words
//	lexicon    the words of each language by what they say; each list of words is in its files alone
//
// It promises that the same text gives the same answer, in time that grows with the text's length. It
// knows no item, no store and no request. Any package may import it.
//
// # Terms
//
// Text is brought to Unicode NFKC and cut into words: runs of letters, digits and
// underscores. Words are lower-cased with full folding (ß is ss, ς is σ); Latin letters
// lose their diacritics. English stop words are dropped and what consists of a–z is
// stemmed (Porter). A compound (camelCase, PascalCase, acronyms as in HTTPServer,
// snake_case, O'Brien) gives itself and then its parts of two letters and more. Signs of names count
// ([CountSigns], [LeadsSign], [JoinsWords]): C++, C# and .NET are terms, and words that signs join
// (B-12, 1.0.0) give one term more, b12 and 1.0.0. The endings 's, 're, 've, 'll, 'd and 'm are cut off
// and words in n't dropped. Han, kana, Hangul, Thai and Lao runs give their bigrams, or the one rune
// they have. A term longer than 64 bytes keeps its beginning, as do the characters of base64 of which
// more than 256 follow each other. A text has at most 16,384 different terms: the first.
// keyword.Version changes whenever a text may give other terms than before.
package language
