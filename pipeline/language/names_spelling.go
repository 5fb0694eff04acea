package language

import (
	"strings"
)

// isIdentifier reports whether a word is spelt like a name of code or of a file: letters
// with an underscore or a capital inside, a path, a file name, a ticket id.
func isIdentifier(w string) bool {
	var lower, upper, digit, slash, under, dash, dot, other int
	hump := false
	last := byte(0)
	for i := range len(w) {
		c := w[i]
		switch {
		case c >= 'a' && c <= 'z':
			lower++
		case c >= 'A' && c <= 'Z':
			hump = hump || last >= 'a' && last <= 'z'
			upper++
		case c >= '0' && c <= '9':
			digit++
		case c == '/':
			slash++
		case c == '_':
			under++
		case c == '-':
			dash++
		case c == '.':
			dot++
		default:
			other++
		}
		last = c
	}
	letters := lower + upper
	switch {
	case letters < 2 || other > 0 && !strings.HasSuffix(w, "()"):
		return false
	case slash > 0:
		return slash > 1 || w[0] == '.' || dot > 0 && isFileName(w)
	case dot > 0:
		return isFileName(w)
	case dash == 1 && upper >= 2 && lower == 0 && digit > 0:
		return isTicket(w)
	case dash > 0:
		return false
	}
	return under > 0 && w[0] != '_' || hump
}

// isTicket reports whether w is capitals, a dash and a number.
func isTicket(w string) bool {
	i := strings.IndexByte(w, '-')
	return i >= 2 && i <= 10 && strings.Trim(w[:i], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" &&
		i+1 < len(w) && len(w) <= i+8 && strings.Trim(w[i+1:], "0123456789") == ""
}

// isFileName reports whether w ends in an extension that files of text and code have.
func isFileName(w string) bool {
	i := strings.LastIndexByte(w, '.')
	if i < 1 || w[i-1] == '/' {
		return false
	}
	switch w[i+1:] {
	case "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "db", "doc", "docx", "go", "h", "html", "ini", "java", "js",
		"json", "jsonl", "jsx", "kt", "log", "lua", "md", "mod", "pdf", "php", "pl", "png", "proto", "py", "rb", "rego", "rs",
		"rst", "scala", "sh", "sql", "sum", "svg", "swift", "tf", "toml", "ts", "tsx", "txt", "xls", "xlsx", "xml", "yaml", "yml":
		return true
	}
	return false
}

// isCommon reports whether a capitalised word names nothing: days, months, forms of
// address, and what often opens a sentence.
func isCommon(w string) bool {
	var buf [16]byte
	if len(w) > len(buf) {
		return false
	}
	n := copy(buf[:], w)
	for i := range n {
		if c := buf[i]; c >= 'A' && c <= 'Z' {
			buf[i] = c + 'a' - 'A'
		}
	}
	return Default().words[string(buf[:n])]&(common|timeName) != 0 || IsTimeName(w)
}
