package blob

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	maxPaths  = 2000    // of one document
	maxToken  = 8 << 20 // bytes of one string or number
	maxDepth  = 512     // of nesting
	shallow   = 2       // members at most this deep are shown as they are
	maxPicked = 256     // values kept while the document is read
)

// errLong is returned for a JSON value that is too long to be looked at.
var errLong = errors.New("a JSON value is too long")

// window copies what a decoder reads, so that values can be cut from it: the last
// bytes, as many as a value and the decoder's own buffer can take.
type window struct {
	r     io.Reader
	buf   []byte
	start int64 // of buf in the stream
	since int64 // bytes read since the last token
	total int64 // bytes read
}

// Read reads, keeps the bytes and refuses a token without an end.
func (w *window) Read(p []byte) (int, error) {
	if w.since > maxToken {
		return 0, errLong
	}
	n, err := w.r.Read(p)
	w.since += int64(n)
	w.total += int64(n)
	w.buf = append(w.buf, p[:n]...)
	return n, err
}

// discardBefore lets go of what is before at.
func (w *window) discardBefore(at int64) {
	if n := at - w.start; n > 1<<20 && n <= int64(len(w.buf)) {
		w.buf = append(w.buf[:0], w.buf[n:]...)
		w.start = at
	}
}

func (w *window) readSpan(s Span) string {
	from := s.Start - w.start
	to := s.End - w.start
	if from < 0 || to > int64(len(w.buf)) || from > to {
		return ""
	}
	return string(w.buf[from:to])
}

// path is what a document has at one place, all elements of an array together.
type path struct {
	name    string
	depth   int
	types   map[string]int64
	first   Span  // of the first value
	bytes   int64 // of the values that have no parts
	n       int64 // numbers
	mean    float64
	m2      float64
	low     picked
	high    picked
	longest int
}

// picked is a value that may be shown.
type picked struct {
	Line
	value float64
	score int
}

// walk is a document being read.
type walk struct {
	dec   *json.Decoder
	w     *window
	words map[string]bool
	paths map[string]*path
	order []*path
	lost  Field // values of paths beyond maxPaths
	kept  []picked
	nodes int64
}

func summariseJSON(br *bufio.Reader, o Options) (Summary, error) {
	w := &window{r: br}
	j := &walk{dec: json.NewDecoder(w), w: w, words: wordsOf(o.Query), paths: map[string]*path{}, lost: Field{Name: "values of further paths"}}
	j.dec.UseNumber()
	var err error
	docs := 0
	for err == nil {
		if err = j.readNextValue("", 0); err == nil {
			docs++
		}
	}
	out := Summary{Kind: JSON}
	var syntax *json.SyntaxError
	var tail *Field
	switch {
	case errors.Is(err, io.EOF) && docs > 0:
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, errLong), errors.Is(err, errDeep):
		tail = &Field{Name: "what follows byte " + strconv.FormatInt(j.dec.InputOffset(), 10) + ", where it is no longer JSON that can be read", Count: 1}
	default:
		return out, err
	}
	more, err := io.Copy(io.Discard, br)
	if err != nil {
		return out, err
	}
	read := w.total + more
	if tail != nil {
		tail.Bytes = read - j.dec.InputOffset()
		read -= tail.Bytes
	}
	j.fillSummary(&out, o)
	for _, f := range out.Dropped {
		read -= f.Bytes
	}
	out.appendDroppedFields(Field{Name: "names, signs and space around values", Bytes: read - countCoveredBytes(out.Lines)})
	if tail != nil {
		out.appendDroppedFields(*tail)
	}
	return out, nil
}

var errDeep = errors.New("JSON is nested too deeply")

func (j *walk) readNextToken() (json.Token, Span, error) {
	before := j.dec.InputOffset()
	j.w.discardBefore(before)
	j.w.since = 0
	tok, err := j.dec.Token()
	end := j.dec.InputOffset()
	start := before
	if err == nil { // the decoder counts what separates values to the next one
		for s := j.w.readSpan(Span{start, end}); len(s) > 0 && strings.IndexByte(" \t\r\n,:", s[0]) >= 0; s = s[1:] {
			start++
		}
	}
	return tok, Span{start, end}, err
}

// readNextValue reads the next value, which stands at a path.
func (j *walk) readNextValue(name string, depth int) error {
	tok, span, err := j.readNextToken()
	if err != nil {
		return err
	}
	return j.readValue(tok, span, name, "", depth)
}

func (j *walk) readValue(tok json.Token, span Span, name, key string, depth int) error {
	j.nodes++
	p := j.findPath(name, depth, span)
	switch v := tok.(type) {
	case json.Delim:
		if depth >= maxDepth {
			return errDeep
		}
		return j.readNestedValues(v, p, span, name, depth)
	case json.Number:
		x, err := v.Float64()
		if err == nil && p != nil {
			p.addNumber(x, picked{Line: j.makeSpanLine(span, key), value: x})
		}
		j.noteLeaf(p, "number", span, key, "")
	case string:
		if p != nil {
			p.longest = max(p.longest, len(v))
		}
		j.noteLeaf(p, "string", span, key, v)
	case bool:
		j.noteLeaf(p, "boolean", span, key, "")
	case nil:
		j.noteLeaf(p, "null", span, key, "")
	}
	return nil
}

// readNestedValues reads the members or elements of an object or array.
func (j *walk) readNestedValues(d json.Delim, p *path, span Span, name string, depth int) error {
	kind := "object"
	next := ""
	if d == '[' {
		kind = "array"
		next = name + "[]"
	}
	if p != nil {
		p.types[kind]++
	}
	for j.dec.More() {
		key := ""
		start := int64(-1)
		if d == '{' {
			tok, at, err := j.readNextToken()
			if err != nil {
				return err
			}
			key, _ = tok.(string)
			start = at.Start
			next = strings.TrimPrefix(name+"."+key, ".")
		}
		tok, at, err := j.readNextToken()
		if err != nil {
			return err
		}
		if start >= 0 {
			if _, composite := tok.(json.Delim); !composite {
				at.Start = start // "key": value is cut whole
			}
		}
		if err := j.readValue(tok, at, next, key, depth+1); err != nil {
			return err
		}
	}
	_, _, err := j.readNextToken()
	return err
}

func (j *walk) findPath(name string, depth int, span Span) *path {
	p, ok := j.paths[name]
	if !ok {
		if len(j.paths) >= maxPaths {
			return nil
		}
		p = &path{name: name, depth: depth, types: map[string]int64{}, first: span}
		j.paths[name] = p
		j.order = append(j.order, p)
	}
	return p
}

func (j *walk) makeSpanLine(span Span, _ string) Line {
	text := j.w.readSpan(span)
	if len(text) > maxLine {
		end := maxLine
		for end > 0 && text[end]&0xC0 == 0x80 {
			end--
		}
		text = text[:end]
	}
	return Line{Text: text, Span: Span{span.Start, span.Start + int64(len(text))}, Verbatim: true}
}

// noteLeaf notes a value that has no parts, and keeps it when it may be shown.
func (j *walk) noteLeaf(p *path, kind string, span Span, key, text string) {
	if p == nil {
		j.lost.Count++
		j.lost.Bytes += span.End - span.Start
		return
	}
	p.types[kind]++
	p.bytes += span.End - span.Start
	score := countOverlap(j.words, key+" "+text[:min(len(text), maxLine)])
	if p.depth > shallow && score == 0 && p.countValues() > 1 {
		return
	}
	if p.depth <= shallow && p.countValues() == 1 {
		score += 2
	}
	if isTellingKey(key) {
		score++
	}
	if score == 0 {
		return
	}
	l := j.makeSpanLine(span, key)
	l.Note = p.name
	j.kept = append(j.kept, picked{Line: l, score: score})
	if len(j.kept) > 2*maxPicked {
		slices.SortStableFunc(j.kept, func(a, b picked) int { return b.score - a.score })
		j.kept = j.kept[:maxPicked]
	}
}

// isTellingKey reports whether a member's name promises something a reader wants.
func isTellingKey(key string) bool {
	switch strings.ToLower(key) {
	case "error", "errors", "message", "status", "code", "reason", "title", "name", "id", "result", "total", "warning", "exception":
		return true
	}
	return false
}

func (p *path) countValues() int64 {
	n := int64(0)
	for _, c := range p.types {
		n += c
	}
	return n
}

// addNumber adds a value to mean and variance (Welford) and keeps the extremes.
func (p *path) addNumber(x float64, at picked) {
	p.n++
	d := x - p.mean
	p.mean += d / float64(p.n)
	p.m2 += d * (x - p.mean)
	if p.n == 1 || x < p.low.value {
		p.low = at
	}
	if p.n == 1 || x > p.high.value {
		p.high = at
	}
}

// findOutliers are the extremes that lie more than four standard deviations off.
func (p *path) findOutliers() []Line {
	if p.n < 10 {
		return nil
	}
	sd := math.Sqrt(p.m2 / float64(p.n-1))
	var out []Line
	for _, at := range []picked{p.low, p.high} {
		if sd > 0 && math.Abs(at.value-p.mean) > 4*sd {
			l := at.Line
			l.Note = "outlier of " + p.name
			out = append(out, l)
		}
	}
	return out
}

// describePath says a path and what it holds.
func (p *path) describePath() string {
	var b strings.Builder
	b.WriteString(p.name)
	if p.name == "" {
		b.WriteString("the document")
	}
	b.WriteString(":")
	for _, kind := range []string{"object", "array", "string", "number", "boolean", "null"} {
		if n := p.types[kind]; n > 0 {
			b.WriteString(" " + kind)
			if n > 1 {
				b.WriteString(" ×" + strconv.FormatInt(n, 10))
			}
		}
	}
	if p.n > 1 {
		b.WriteString(", " + formatNumber(p.low.value) + " to " + formatNumber(p.high.value))
	}
	if p.longest > 200 {
		b.WriteString(", up to " + bytesOf(int64(p.longest)))
	}
	return b.String()
}

func formatNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func (j *walk) fillSummary(out *Summary, o Options) {
	out.Title = formatCount(j.nodes, "value", "values") + " at " + formatCount(int64(len(j.order)), "path", "paths")
	taken := map[int64]bool{}
	take := func(l Line) {
		if !taken[l.Span.Start] && l.Text != "" && len(out.Lines) < o.Lines {
			taken[l.Span.Start] = true
			out.Lines = append(out.Lines, l)
		}
	}
	for _, p := range j.order {
		for _, l := range p.findOutliers() {
			take(l)
		}
	}
	slices.SortStableFunc(j.kept, func(a, b picked) int { return b.score - a.score })
	for _, k := range j.kept[:min(len(j.kept), max(1, o.Lines*2/3))] {
		take(k.Line)
	}
	type part struct{ values, bytes int64 }
	shown := map[string]part{}
	for _, l := range out.Lines {
		name := strings.TrimPrefix(l.Note, "outlier of ")
		shown[name] = part{shown[name].values + 1, shown[name].bytes + int64(len(l.Text))}
	}
	for _, p := range j.order {
		at := shown[p.name]
		out.appendDroppedFields(Field{Name: p.name, Count: p.countValues() - p.types["object"] - p.types["array"] - at.values, Bytes: p.bytes - at.bytes})
		if len(out.Lines) < o.Lines && (p.countValues() > 1 || p.types["array"] > 0) {
			out.Lines = append(out.Lines, Line{Text: p.describePath(), Span: p.first, Count: 0, Note: "schema"})
		}
	}
	out.appendDroppedFields(j.lost)
	slices.SortStableFunc(out.Dropped, func(a, b Field) int { return int(min(max(b.Bytes-a.Bytes, -1), 1)) })
	if len(out.Dropped) > o.Lines {
		rest := Field{Name: "values of other paths"}
		for _, f := range out.Dropped[o.Lines:] {
			rest.Count += f.Count
			rest.Bytes += f.Bytes
		}
		out.Dropped = append(out.Dropped[:o.Lines], rest)
	}
}
