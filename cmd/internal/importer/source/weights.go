package source

// The numbers that values are made with.
const (
	defaultThreshold = 0.5  // cosine from which two experiences are neighbours
	sameSimilarity   = 1e-9 // cosines that differ by less are equal
	similarityDigits = 1e4  // a similarity is kept to four digits
)
