package blob

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"strings"
)

// maxSearch is the size of the search results that are read as such; what is larger is
// read as JSON or text.
const maxSearch = 8 << 20

// result is one search result, by the bytes it stands at.
type result struct {
	title, address string
	text           []string // what passages are taken from
	at             int      // where the result begins
	end            int
}

func summariseSearch(br *bufio.Reader, o Options) (Summary, error) {
	raw, err := io.ReadAll(io.LimitReader(br, maxSearch+1))
	if err != nil {
		return Summary{}, err
	}
	rest := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(raw), br), headSize)
	var list []result
	if body := bytes.TrimLeft(raw, " \t\r\n"); len(body) > 0 && (body[0] == '{' || body[0] == '[') {
		list = jsonResults(raw)
		if len(list) == 0 || len(raw) > maxSearch {
			return summariseJSON(rest, o)
		}
	} else if list = textResults(string(raw)); len(list) == 0 || len(raw) > maxSearch {
		return summariseText(rest, o)
	}
	out := Summary{Kind: Search}
	words := wordsOf(o.Query)
	seen := map[string]int{}
	duplicates := Field{Name: "duplicates"}
	left := Field{Name: "results not shown"}
	for i := range list {
		r := &list[i]
		key := normaliseAddress(r.address)
		passage := bestPassage(r.text, words)
		if at, ok := seen[key]; ok && key != "" {
			duplicates.Count++
			duplicates.Bytes += int64(r.end - r.at)
			if at >= 0 {
				out.Lines[at].Count = max(1, out.Lines[at].Count) + 1
				out.Lines[at].Last = &Span{int64(r.at), int64(r.end)}
			}
			continue
		}
		seen[key] = -1
		if len(out.Lines)+3 > o.Lines {
			left.Count++
			left.Bytes += int64(r.end - r.at)
			continue
		}
		seen[key] = len(out.Lines)
		from := r.at
		for n, s := range []struct{ note, text string }{{"title", r.title}, {"url", r.address}, {"passage", passage}} {
			if s.text == "" {
				continue
			}
			l := Line{Text: clipText(s.text), Note: s.note, Span: Span{int64(r.at), int64(r.end)}}
			if i := bytes.Index(raw[r.at:r.end], []byte(l.Text)); i >= 0 {
				l.Span = Span{int64(r.at + i), int64(r.at + i + len(l.Text))}
				l.Verbatim = true
			}
			if !l.Verbatim { // an escaped string: the result it is of, in this order
				l.Span.Start = int64(min(from+n, r.end))
			}
			out.Lines = append(out.Lines, l)
		}
	}
	out.Title = formatCount(int64(len(list)), "result", "results")
	out.appendDroppedFields(duplicates, left, Field{Name: "the rest of the passages and other fields", Count: int64(len(list)) - duplicates.Count - left.Count,
		Bytes: int64(len(raw)) - countCoveredBytes(out.Lines) - duplicates.Bytes - left.Bytes})
	return out, nil
}

func clipText(s string) string {
	if len(s) <= maxLine {
		return s
	}
	end := maxLine
	for end > 0 && s[end]&0xC0 == 0x80 {
		end--
	}
	return s[:end]
}

// normaliseAddress is an address without what does not change the page.
func normaliseAddress(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" {
		return strings.ToLower(strings.TrimSpace(address))
	}
	q := u.Query()
	for k := range q {
		if strings.HasPrefix(k, "utm_") || k == "ref" || k == "gclid" || k == "fbclid" {
			q.Del(k)
		}
	}
	return strings.TrimPrefix(strings.ToLower(u.Host), "www.") + strings.TrimSuffix(u.Path, "/") + "?" + q.Encode()
}

// bestPassage is the sentence with the most words of the query, the first of equals.
func bestPassage(texts []string, words map[string]bool) string {
	best := ""
	score := -1
	for _, text := range texts {
		for _, s := range strings.SplitAfter(strings.ReplaceAll(text, "\n", "\n\x00"), "\x00") {
			s = strings.TrimSuffix(s, "\x00")
			for len(s) > 0 {
				end := len(s)
				if i := strings.Index(s, ". "); i >= 0 {
					end = i + 1
				}
				sentence := strings.TrimSpace(s[:end])
				s = strings.TrimLeft(s[end:], " ")
				if n := countOverlap(words, sentence); sentence != "" && n > score {
					best = sentence
					score = n
				}
			}
		}
	}
	return best
}

// jsonResults finds the first array of objects that have an address.
func jsonResults(raw []byte) []result {
	dec := json.NewDecoder(bytes.NewReader(raw))
	for {
		tok, err := dec.Token()
		if err != nil {
			return nil
		}
		if tok != json.Delim('[') {
			continue
		}
		var list []result
		for dec.More() {
			var one map[string]json.RawMessage
			before := int(dec.InputOffset())
			if dec.Decode(&one) != nil {
				return list
			}
			end := int(dec.InputOffset())
			at := before + max(0, bytes.IndexByte(raw[before:end], '{'))
			r := result{title: findMember(one, "title", "name"), address: findMember(one, "url", "link", "href"), at: at, end: end}
			for _, k := range []string{"snippet", "content", "description", "passage", "body", "text"} {
				if s := findMember(one, k); s != "" {
					r.text = append(r.text, s)
				}
			}
			if r.address != "" {
				list = append(list, r)
			}
		}
		if len(list) > 0 {
			return list
		}
	}
}

func findMember(one map[string]json.RawMessage, names ...string) string {
	for _, n := range names {
		var s string
		if raw, ok := one[n]; ok && json.Unmarshal(raw, &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// textResults reads blocks of a title, an address and a passage, in any order of the
// first two.
func textResults(text string) []result {
	type row struct {
		text  string
		start int
	}
	var rows []row
	at := 0
	for l := range strings.Lines(text) {
		rows = append(rows, row{strings.TrimRight(l, "\r\n"), at})
		at += len(l)
	}
	var list []result
	for i, r := range rows {
		address := strings.TrimSpace(r.text)
		for _, p := range []string{"URL: ", "url: ", "Url: "} {
			address = strings.TrimPrefix(address, p)
		}
		if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") || strings.ContainsAny(address, " \t") {
			continue
		}
		one := result{address: address, at: r.start}
		if i > 0 && strings.TrimSpace(rows[i-1].text) != "" {
			one.title = strings.TrimSpace(rows[i-1].text)
			one.at = rows[i-1].start
		}
		if n := len(list); n > 0 {
			list[n-1].end = min(list[n-1].end, one.at)
			for j, s := range list[n-1].text {
				if s == rows[max(0, i-1)].text && one.title != "" {
					list[n-1].text = list[n-1].text[:j]
					break
				}
			}
		}
		one.end = len(text)
		for j := i + 1; j < len(rows) && j <= i+40; j++ {
			if s := strings.TrimSpace(rows[j].text); strings.HasPrefix(s, "http") && !strings.Contains(s, " ") {
				break
			}
			one.text = append(one.text, rows[j].text)
		}
		list = append(list, one)
	}
	return list
}
