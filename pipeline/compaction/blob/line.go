package blob

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// line is one line of a stream, without its line feed. text is valid until the next
// call of next.
type line struct {
	text    []byte
	start   int64
	end     int64 // of the line, however long it is
	next    int64 // where the next line starts
	clipped bool  // text is only its beginning
}

// lines reads lines of any length in bounded memory.
type lines struct {
	r  *bufio.Reader
	at int64
}

// readNextLine returns the next line, and io.EOF after the last.
func (l *lines) readNextLine() (line, error) {
	text, err := l.r.ReadSlice('\n')
	out := line{start: l.at}
	l.at += int64(len(text))
	if errors.Is(err, bufio.ErrBufferFull) {
		text = bytes.Clone(text[:maxLine])
		out.clipped = true
		for errors.Is(err, bufio.ErrBufferFull) {
			var more []byte
			more, err = l.r.ReadSlice('\n')
			l.at += int64(len(more))
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return out, err
	}
	if err != nil && l.at == out.start {
		return out, io.EOF
	}
	out.end = l.at
	out.next = l.at
	if err == nil {
		out.end--
		if !out.clipped {
			text = text[:len(text)-1]
		}
	}
	if !out.clipped && len(text) > 0 && text[len(text)-1] == '\r' {
		text = text[:len(text)-1]
		out.end--
	}
	out.text = text
	return out, nil
}

// quoteLine returns the line as a line of a summary, cut to what is kept.
func (l *line) quoteLine(note string) Line {
	text := l.text[:min(len(l.text), maxLine)]
	for len(text) < len(l.text) && len(text) > 0 && l.text[len(text)]&0xC0 == 0x80 {
		text = text[:len(text)-1]
	}
	return Line{Text: string(text), Span: Span{l.start, l.start + int64(len(text))}, Verbatim: true, Note: note, raw: l.next - l.start}
}

// visitLines calls do for every line.
func visitLines(r *bufio.Reader, do func(*line)) error {
	in := lines{r: r}
	for {
		l, err := in.readNextLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		do(&l)
	}
}

// block is consecutive lines that are kept together.
type block struct {
	text  []byte
	start int64
	lines int
	raw   int64 // bytes of the lines that text is of, with their ends
	more  tally // lines that no longer fit
	cut   bool  // bytes are missing before the next line: it may not be joined
}

// joinLine joins a line to the block.
func (b *block) joinLine(l *line) {
	if b.lines == 0 {
		b.start = l.start
	}
	b.lines++
	end := b.start + int64(len(b.text))
	gap := l.start - end
	if b.cut || b.lines > 1 && (len(b.text)+len(l.text)+2 > maxLine || gap > 2 || gap < 0) {
		b.cut = true
		b.more.countLine(l)
		return
	}
	if b.lines > 1 {
		if gap == 2 {
			b.text = append(b.text, '\r')
		}
		b.text = append(b.text, '\n')
	}
	v := l.quoteLine("")
	b.text = append(b.text, v.Text...)
	b.raw += v.raw
	b.cut = len(v.Text) < int(l.end-l.start)
}

// makeBlockLine returns the block as a line of a summary.
func (b *block) makeBlockLine(note string) Line {
	return Line{Text: string(b.text), Span: Span{b.start, b.start + int64(len(b.text))}, Verbatim: true, Note: note, raw: b.raw}
}

// tallyBlock is all lines of the block.
func (b *block) tallyBlock() tally { return tally{rows: int64(b.lines), bytes: b.raw + b.more.bytes} }

func (b *block) resetBlock() { *b = block{text: b.text[:0]} }
