package pii

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/publicsuffix"
)

// Lengths of an address (RFC 5321) and of a name (RFC 1035).
const (
	maxLocal = 64
	maxName  = 253
	maxURL   = 2048
)

// tryEscapedEmail tries the @ of an address that stands at i as URLs and HTML write it.
func (s *scan) tryEscapedEmail(i int) {
	for _, at := range [...]string{"%40", "&#64;", "&#x40;", "&commat;"} {
		if strings.HasPrefix(s.text[i:], at) {
			s.tryEmail(i, len(at))
			return
		}
	}
}

// tryEmail tries the @ of n bytes at i: local part before it, domain name behind it.
func (s *scan) tryEmail(i, n int) bool {
	t := s.text
	start := i
	for start > s.free && i-start < maxLocal && isLocal(t[start-1]) {
		start--
	}
	for start < i && !isAlnum(t[start]) && t[start] < utf8.RuneSelf {
		start++
	}
	if start == i || t[i-1] == '.' {
		return false
	}
	end := nameEnd(t, i+n)
	if end < len(t) && t[end] == ':' && t[start:i] == "git" || !mailDomain(t[i+n:end]) || !utf8.ValidString(t[start:end]) {
		return false
	}
	return s.addFinding(Span{Start: start, End: end, Type: Email, Confidence: 0.98, Rule: "email"})
}

func isLocal(c byte) bool {
	return isAlnum(c) || c >= utf8.RuneSelf || strings.IndexByte("._%+-'", c) >= 0
}

// nameEnd returns where a domain name that begins at i ends.
func nameEnd(t string, i int) int {
	end := i
	for end < len(t) && end-i < maxName && (isAlnum(t[end]) || t[end] == '-' || t[end] == '.' || t[end] >= utf8.RuneSelf) {
		end++
	}
	for end > i && (t[end-1] == '.' || t[end-1] == '-') {
		end--
	}
	return end
}

// mailDomain reports whether name has at least two labels and letters in the last.
func mailDomain(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if len(last) == len(name) || len(last) < 2 || strings.Contains(name, "..") || name[0] == '.' || name[0] == '-' {
		return false
	}
	for i := range len(last) {
		if isDigit(last[i]) && !strings.HasPrefix(last, "xn--") {
			return false
		}
	}
	return true
}

// tryURLScheme tries the word [i, end) as a scheme. What stands between // and @ is a secret when it holds a
// password, and then the only finding.
func (s *scan) tryURLScheme(i, end int) bool {
	t := s.text
	colon := end
	for colon < len(t) && colon-i < 12 && (isAlnum(t[colon]) || t[colon] == '+') {
		colon++
	}
	if !strings.HasPrefix(t[colon:], "://") {
		return false
	}
	host := colon + 3
	if s.tryURLPassword(host) {
		return true
	}
	if !foldAny(t[i:colon], "http", "https", "ftp", "ftps", "sftp", "ws", "wss") {
		return false
	}
	name := nameEnd(t, host)
	if name == host || !s.d.url { // what is not wanted may hold what is
		return false
	}
	end = urlEnd(t, i)
	return s.addFinding(Span{Start: i, End: end, Type: URL, Confidence: 0.97, Rule: "url"})
}

// urlEnd returns where the URL at i ends: before a blank, a quote or a bracket that
// was not opened, and without the punctuation of the sentence.
func urlEnd(t string, i int) int {
	end := i
	depth := 0
	for end < len(t) && end-i < maxURL && t[end] > ' ' && strings.IndexByte("\"'<>`|\\^{}", t[end]) < 0 {
		switch t[end] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
			if depth < 0 {
				return trimURL(t, i, end)
			}
		}
		end++
	}
	return trimURL(t, i, end)
}

func trimURL(t string, i, end int) int {
	for end > i && strings.IndexByte(".,;:!?*", t[end-1]) >= 0 {
		end--
	}
	return end
}

// tryURLPassword tries user:password@ at i, the place of the host in a URL.
func (s *scan) tryURLPassword(i int) bool {
	t := s.text
	colon := 0
	end := i
	for end < len(t) && end-i < 256 && t[end] > ' ' && strings.IndexByte("/?#\"'<>`@", t[end]) < 0 {
		if t[end] == ':' && colon == 0 {
			colon = end
		}
		end++
	}
	if colon == 0 || end >= len(t) || t[end] != '@' || end-colon < 2 || isPlaceholder(t[colon+1:end]) {
		return false
	}
	return s.addFinding(Span{Start: i, End: end, Type: Secret, Confidence: 0.9, Rule: "url_password"})
}

// tryDomain tries the dot at i as one inside a name without a scheme.
func (s *scan) tryDomain(i int) bool {
	t := s.text
	if i == 0 || i < s.tried || !s.d.domain || i+1 >= len(t) || !isAlnum(t[i-1]) || !isAlnum(t[i+1]) {
		return false
	}
	start := i
	for start > s.free && i-start < 63 && (isAlnum(t[start-1]) || t[start-1] == '-') {
		start--
	}
	end := nameEnd(t, i+1)
	s.tried = end
	if start > 0 && (t[start-1] == '.' || t[start-1] == '@' || t[start-1] == '_' || t[start-1] == '/' || t[start-1] == '\\') ||
		end < len(t) && (t[end] == '@' || t[end] == '_' || t[end] == '(' || t[end] == '=') {
		return false
	}
	confidence := scoreDomain(t[start:end])
	if confidence == 0 {
		return false
	}
	if end < len(t) && t[end] == '/' && confidence >= 0.5 {
		end = urlEnd(t, start)
	}
	return s.addFinding(Span{Start: start, End: end, Type: Domain, Confidence: confidence, Rule: "name"})
}

// scoreDomain says how sure a name is a domain's, and not a file's or a method's.
func scoreDomain(name string) float64 {
	lowered := strings.ToLower(name)
	suffix, icann := publicsuffix.PublicSuffix(lowered)
	if !icann && !strings.Contains(suffix, ".") || suffix == lowered || strings.Contains(name, "..") {
		return 0
	}
	www := strings.HasPrefix(lowered, "www.")
	top := lowered[strings.LastIndexByte(lowered, '.')+1:]
	switch {
	case www:
		return 0.95
	case top == "com" || top == "org" || top == "net" || top == "edu" || top == "gov" || top == "mil" || top == "eu" || top == "int":
		return 0.9
	case strings.Contains(suffix, "."):
		return 0.85
	case fileLike(top) || name != lowered:
		return 0.3
	case len(top) == 2:
		return 0.6
	}
	return 0.45
}

// fileLike reports whether a top-level domain is also what files and fields are called.
func fileLike(top string) bool {
	switch top {
	case "md", "py", "rs", "sh", "pl", "so", "cc", "ps", "id", "is", "in", "it", "to", "do", "no", "me", "my", "at", "as", "am", "be", "by",
		"so_", "ai", "ml", "mk", "st", "py_", "name", "info", "zip", "mov", "app", "run", "page", "help", "data", "map", "call", "link",
		"click", "post", "kr_", "ms", "re", "tf", "vi", "ph", "ad", "al", "la", "ac", "bz", "gz", "tm", "mm", "pm", "si", "tt":
		return true
	}
	return false
}
