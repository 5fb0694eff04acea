package language

// IsStopWord reports whether the lower-case word w is an English function word that
// neither indexes nor queries keep. Contractions are not in the list: Analyze settles them.
func IsStopWord(w string) bool { return stopWord([]byte(w)) }

func stopWord(w []byte) bool {
	if len(w) > 10 {
		return false
	}
	switch string(w) {
	case "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in",
		"into", "is", "it", "no", "not", "of", "on", "or", "such", "that", "the",
		"their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
		"i", "me", "my", "myself", "we", "our", "ours", "ourselves", "you", "your",
		"yours", "yourself", "yourselves", "he", "him", "his", "himself", "she", "her",
		"hers", "herself", "its", "itself", "them", "theirs", "themselves", "what",
		"which", "who", "whom", "those", "am", "were", "been", "being", "have", "has",
		"had", "having", "do", "does", "did", "doing", "because", "until", "while",
		"about", "against", "between", "through", "during", "before", "after", "above",
		"below", "from", "up", "down", "out", "off", "over", "under", "again",
		"further", "once", "here", "when", "where", "why", "how", "all", "any", "both",
		"each", "few", "more", "most", "other", "some", "nor", "only", "own", "same",
		"so", "than", "too", "very", "can", "just", "should", "now":
		return true
	}
	return false
}
