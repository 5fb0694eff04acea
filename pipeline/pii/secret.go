package pii

import (
	"strings"
)

// vendor is a form of key that one vendor gives out: a prefix and so many characters of
// an alphabet.
type vendor struct {
	rule     string
	prefix   string
	alphabet alphabet
	least    int // characters behind the prefix
	most     int
}

type alphabet uint8

const (
	alnum   alphabet = iota
	url64            // letters, digits, - and _
	hexa             // hex digits
	upper32          // capital letters and digits
	dotted           // url64 and dots
	std64            // base64 with + / =
)

func (a alphabet) hasCharacter(c byte) bool {
	switch a {
	case url64:
		return isAlnum(c) || c == '-' || c == '_'
	case hexa:
		return isDigit(c) || lowerByte(c) >= 'a' && lowerByte(c) <= 'f'
	case upper32:
		return isDigit(c) || c >= 'A' && c <= 'Z'
	case dotted:
		return isAlnum(c) || c == '-' || c == '_' || c == '.'
	case std64:
		return isAlnum(c) || c == '+' || c == '/' || c == '='
	}
	return isAlnum(c)
}

// vendors lists the forms, as their vendors document them.
var vendors = [...]vendor{
	{"aws", "AKIA", upper32, 16, 16}, {"aws", "ASIA", upper32, 16, 16}, {"aws", "ABIA", upper32, 16, 16}, {"aws", "ACCA", upper32, 16, 16},
	{"github", "ghp_", alnum, 36, 255}, {"github", "gho_", alnum, 36, 255}, {"github", "ghu_", alnum, 36, 255},
	{"github", "ghs_", url64, 36, 255}, {"github", "ghr_", alnum, 36, 255}, {"github", "github_pat_", url64, 22, 255},
	{"gitlab", "glpat-", dotted, 20, 64}, {"gitlab", "glrt-", dotted, 20, 64}, {"gitlab", "gldt-", url64, 20, 64}, {"gitlab", "glptt-", alnum, 40, 40},
	{"slack", "xoxb-", url64, 24, 255}, {"slack", "xoxp-", url64, 24, 255}, {"slack", "xoxa-", url64, 24, 255},
	{"slack", "xoxr-", url64, 24, 255}, {"slack", "xoxs-", url64, 24, 255}, {"slack", "xapp-", url64, 24, 255},
	{"stripe", "sk_live_", alnum, 16, 255}, {"stripe", "rk_live_", alnum, 16, 255}, {"stripe", "sk_test_", alnum, 16, 255},
	{"stripe", "rk_test_", alnum, 16, 255}, {"stripe", "whsec_", std64, 24, 128},
	{"anthropic", "sk-ant-", url64, 24, 255}, {"openai", "sk-proj-", url64, 20, 255}, {"openai", "sk-svcacct-", url64, 20, 255},
	{"openrouter", "sk-or-", url64, 24, 255}, {"openai", "sk-", alnum, 32, 64},
	{"google", "AIza", url64, 35, 35}, {"google", "ya29.", url64, 24, 2048}, {"google", "GOCSPX-", url64, 24, 40},
	{"npm", "npm_", alnum, 36, 36}, {"pypi", "pypi-", url64, 50, 512}, {"rubygems", "rubygems_", hexa, 48, 48}, {"crates", "cio", alnum, 32, 32},
	{"sendgrid", "SG.", dotted, 64, 72}, {"mailgun", "key-", hexa, 32, 32}, {"mailchimp", "md-", url64, 22, 22},
	{"twilio", "SK", hexa, 32, 32}, {"huggingface", "hf_", alnum, 34, 40}, {"replicate", "r8_", alnum, 37, 40}, {"groq", "gsk_", alnum, 48, 64},
	{"digitalocean", "dop_v1_", hexa, 64, 64}, {"digitalocean", "doo_v1_", hexa, 64, 64}, {"digitalocean", "dor_v1_", hexa, 64, 64},
	{"databricks", "dapi", hexa, 32, 34}, {"shopify", "shpat_", hexa, 32, 32}, {"shopify", "shpss_", hexa, 32, 32}, {"shopify", "shpca_", hexa, 32, 32},
	{"square", "sq0atp-", url64, 22, 22}, {"square", "sq0csp-", url64, 43, 43}, {"square", "EAAA", url64, 60, 64},
	{"vault", "hvs.", url64, 24, 255}, {"vault", "hvb.", url64, 24, 512}, {"doppler", "dp.pt.", alnum, 40, 44}, {"linear", "lin_api_", alnum, 32, 64},
	{"notion", "ntn_", alnum, 40, 64}, {"notion", "secret_", alnum, 43, 43}, {"postman", "PMAK-", url64, 59, 59}, {"figma", "figd_", url64, 40, 64},
	{"planetscale", "pscale_", dotted, 32, 64}, {"newrelic", "NRAK-", upper32, 27, 27}, {"grafana", "glsa_", url64, 41, 41}, {"grafana", "glc_", std64, 32, 400},
	{"atlassian", "ATATT3", url64, 100, 300}, {"dropbox", "sl.", url64, 130, 160}, {"sentry", "sntrys_", std64, 40, 400}, {"age", "AGE-SECRET-KEY-1", upper32, 58, 58},
	{"nkey", "SU", upper32, 56, 56}, {"nkey", "SA", upper32, 56, 56}, {"nkey", "SO", upper32, 56, 56}, {"nkey", "SN", upper32, 56, 56},
	{"satchel", "satchel_", upper32, 52, 52},
	{"fly", "FlyV1", std64, 60, 2048}, {"jwt", "eyJ", dotted, 40, 4096},
}

// prefixes are the vendors by first byte.
type prefixes [256][]vendor

func indexVendors(all []vendor) (p prefixes) {
	for _, v := range all {
		p[v.prefix[0]] = append(p[v.prefix[0]], v)
	}
	return p
}

// tryVendorKey tries the forms that begin with the byte at i.
func (s *scan) tryVendorKey(i int) bool {
	for _, v := range s.d.secrets[s.text[i]] {
		if !strings.HasPrefix(s.text[i:], v.prefix) {
			continue
		}
		first := i + len(v.prefix)
		end := first
		for end < len(s.text) && end-first <= v.most && v.alphabet.hasCharacter(s.text[end]) {
			end++
		}
		if end-first > v.most {
			s.at = end // what goes on and on is no key, nor is any part of it
			return false
		}
		for end > first && (s.text[end-1] == '.' || s.text[end-1] == '-') {
			end--
		}
		if n := end - first; n < v.least || hasFewCharacters(s.text[first:end]) || v.rule == "jwt" && strings.Count(s.text[i:end], ".") < 2 {
			continue
		}
		if !isAlnum(s.text[min(end, len(s.text)-1)]) || end == len(s.text) {
			return s.addFinding(Span{Start: i, End: end, Type: Secret, Confidence: 0.98, Rule: v.rule})
		}
	}
	return false
}

// hasFewCharacters reports whether a text has too few different characters to be a key.
func hasFewCharacters(t string) bool {
	var seen [256]bool
	n := 0
	for i := range len(t) {
		if !seen[t[i]] {
			seen[t[i]] = true
			n++
		}
	}
	return n < 6
}

// tryPrivateKey tries a PEM block of a private key, or what is left of one, at i.
func (s *scan) tryPrivateKey(i int) bool {
	const begin = "-----BEGIN "
	if !strings.HasPrefix(s.text[i:], begin) {
		return false
	}
	rest := s.text[i+len(begin):]
	head := strings.Index(rest[:min(len(rest), 64)], "-----")
	if head < 0 || !strings.Contains(rest[:head], "PRIVATE KEY") && !strings.Contains(rest[:head], "SEED") {
		return false
	}
	end := len(s.text)
	if limit := rest[:min(len(rest), 16<<10)]; true {
		if k := strings.Index(limit, "-----END "); k >= 0 {
			end = i + len(begin) + k
			if nl := strings.Index(s.text[end+9:min(len(s.text), end+96)], "-----"); nl >= 0 {
				end += 9 + nl + 5
			}
		} else {
			end = min(end, i+len(begin)+len(limit))
		}
	}
	return s.addFinding(Span{Start: i, End: end, Type: Secret, Confidence: 0.99, Rule: "private_key"})
}

// maxValue bounds the value of an assignment.
const maxValue = 512

// tryAssignment tries password: value, API_KEY=value and Authorization: Bearer value, whose
// name ends at end.
func (s *scan) tryAssignment(i, end int) bool {
	t := s.text
	at := end
	bearer := foldAny(t[i:end], "bearer")
	for k := 0; k < 40 && at < len(t) && (t[at] == '_' || t[at] == '-' || at > end && isAlnum(t[at])); k++ {
		at++ // of SECRET_KEY_BASE
	}
	if at == end && foldAny(t[i:end], "api", "access", "secret", "private") {
		at = spacedKey(t, end)
	}
	name := at
	assigned := bearer && at == end && at < len(t) && t[at] == ' '
link:
	for k := 0; k < 8 && at < len(t); k++ {
		c := t[at]
		switch {
		case c == '=' || c == ':' || c == '|' && s.inTable(i):
			assigned = true
		case strings.IndexByte(" \"'`>*\\", c) >= 0 || c == '\n' && assigned: // also of Markdown, of JSON in JSON, of YAML
		default:
			break link
		}
		at++
	}
	if !assigned || !secretName(t[i:name]) {
		return false
	}
	stop := at
	for stop < len(t) && stop-at < maxValue && t[stop] > ' ' && strings.IndexByte("\"'`,;<>(){}[]", t[stop]) < 0 {
		stop++
	}
	for stop > at && strings.IndexByte(".!?\\", t[stop-1]) >= 0 {
		stop--
	}
	value := t[at:stop]
	password := anyOf(t[i:name], passWord)
	if isPlaceholder(value) || namesMethod(value) || !keyLike(value, password) && !isShortSecret(value, t[i:name], password) {
		return false
	}
	return s.addFinding(Span{Start: at, End: stop, Type: Secret, Confidence: 0.8, Rule: "assignment"})
}

// inTable reports whether the line of i is a row of a Markdown table.
func (s *scan) inTable(i int) bool {
	if i < s.lined {
		s.line = 0
		s.lined = 0
	}
	if end := strings.LastIndexByte(s.text[s.lined:i], '\n'); end >= 0 {
		s.line = s.lined + end + 1
	}
	s.lined = i
	for at := s.line; at <= i && at-s.line < mostIndent; at++ {
		if s.text[at] != ' ' {
			return s.text[at] == '|'
		}
	}
	return false
}

// mostIndent is how many blanks may stand before a row of a table.
const mostIndent = 64

// secretName reports whether an assignment to name gives a secret away: a part of it is
// a word for one, or two parts together are.
func secretName(name string) bool {
	key := false
	kind := false
	whole := anyOf(name, func(w string) bool {
		switch w {
		case "key", "keys":
			key = true
		case "api", "access", "private", "auth", "account", "signing", "encryption", "storage", "master", "service":
			kind = true
		case "apikey", "accountkey", "accesskey", "privatekey", "signingkey", "encryptionkey", "authkey":
			return true
		}
		for _, end := range [...]string{"password", "passwd", "pwd", "passphrase", "secret", "secretkey", "token", "bearer", "credential", "credentials"} {
			if strings.HasSuffix(w, end) {
				return true
			}
		}
		return false
	})
	return whole || key && kind
}

func passWord(w string) bool {
	return strings.HasSuffix(w, "password") || strings.HasSuffix(w, "passwd") || strings.HasSuffix(w, "pwd") || strings.HasSuffix(w, "passphrase")
}

// keyLike reports whether a value could be a key and not a word, a path or an expression.
func keyLike(value string, password bool) bool {
	numerals := 0
	letters := 0
	others := 0
	for i := range len(value) {
		switch c := value[i]; {
		case isDigit(c):
			numerals++
		case isLetter(c):
			letters++
		default:
			others++
		}
	}
	if len(value) < 8 || hasFewCharacters(value) || strings.Contains(value, "://") || value[0] == '/' || value[0] == '.' {
		return false
	}
	if password {
		return numerals > 0 || others > 0
	}
	return len(value) >= 16 && numerals >= 2 && letters >= 2 && others*4 <= len(value)
}

// spacedKey returns the end of "key" or "keys" a space behind end, or end where none is.
func spacedKey(t string, end int) int {
	k := end + 1
	for k < len(t) && isLetter(t[k]) && k-end <= len("keys") {
		k++
	}
	if k > end+1 && t[end] == ' ' && foldAny(t[end+1:k], "key", "keys") && (k == len(t) || !isAlnum(t[k])) {
		return k
	}
	return end
}

// leastSecret is the length of the shortest value that is one because its name says so.
const leastSecret = 5

// isShortSecret reports whether a value that is too short to tell by itself is a password, or an
// API key that begins like one: letters and digits together.
func isShortSecret(value, name string, password bool) bool {
	if len(value) < leastSecret || !password && !(anyOf(name, apiKey) && hasVendorPrefix(value)) {
		return false
	}
	numerals := false
	letters := false
	for i := range len(value) {
		switch c := value[i]; {
		case isDigit(c):
			numerals = true
		case isLetter(c):
			letters = true
		case c == '/' || c == '\\' || c == '.':
			return false // a path, a version or a member
		}
	}
	return numerals && letters
}

// namesMethod reports whether a value names how something is done, or a place in a form.
func namesMethod(value string) bool {
	return foldAny(value, "sha-1", "sha-2", "sha-256", "sha-512", "sha256", "sha512", "argon2", "argon2i", "argon2id", "pbkdf2", "base64",
		"oauth2", "utf-8", "crypt3", "bcrypt2", "ldapv3", "kerberos5", "ntlmv2", "field1", "field2", "param1", "param2", "input1", "input2",
		"value1", "value2", "step1", "step2", "part1", "part2")
}

func apiKey(w string) bool {
	return w == "key" || w == "keys" || w == "apikey" || w == "secretkey" || w == "accesskey"
}

// hasVendorPrefix reports whether a value begins like the keys that vendors give out.
func hasVendorPrefix(value string) bool {
	for _, v := range vendors {
		if len(v.prefix) > 2 && strings.HasPrefix(value, v.prefix) {
			return true
		}
	}
	return false
}

// isPlaceholder reports whether a value stands for one that is to be filled in.
func isPlaceholder(value string) bool {
	if value == "" || strings.ContainsAny(value, "$%*") && (value[0] == '$' || value[0] == '%' || strings.Contains(value, "***") || strings.Contains(value, "${")) {
		return true
	}
	var buf [64]byte
	n := 0
	for i := 0; i < len(value) && n < len(buf); i++ {
		buf[n] = lowerByte(value[i])
		n++
	}
	head := string(buf[:n])
	for _, w := range [...]string{"example", "changeme", "placeholder", "your_", "your-", "xxxx", "redacted", "dummy", "os.getenv", "process.env", "env."} {
		if strings.Contains(head, w) {
			return true
		}
	}
	return false
}
