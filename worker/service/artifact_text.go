package service

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"
)

// textOf returns content as UTF-8 text, whatever its media type says, or false for binary content.
// Texts in UTF-16 and UTF-32, and those with some bytes that are none of a text, are texts: what
// masks them has to be able to read them. NUL bytes go.
func textOf(content *bufio.Reader) (io.Reader, bool) {
	head, _ := content.Peek(4096) // an error comes again with the bytes
	switch wide := wideEncoding(head); {
	case wide != nil:
		return transform.NewReader(content, wide), true
	case isBinary(head):
		return nil, false
	case !validPrefix(head):
		return transform.NewReader(withoutNUL{content}, charmap.Windows1252.NewDecoder()), true
	}
	return withoutNUL{content}, true
}

// wideEncoding returns the decoder of a text whose characters take two or four bytes: by its mark, or
// by where its NUL bytes are. nil for another content.
func wideEncoding(head []byte) transform.Transformer {
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe, 0, 0}), bytes.HasPrefix(head, []byte{0, 0, 0xfe, 0xff}):
		return utf32.UTF32(utf32.LittleEndian, utf32.UseBOM).NewDecoder()
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder()
	case len(head) < 8:
		return nil
	}
	var at [4]int // NUL bytes by their place in four
	for i, b := range head {
		if b == 0 {
			at[i%4]++
		}
	}
	most := len(head) / 4 * 7 / 10 // most characters of a text are of the first 256
	big := at[0] > most && at[2] > most
	little := at[1] > most && at[3] > most
	switch {
	case little && at[2] > most && at[0] < most:
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM).NewDecoder()
	case big && at[1] > most && at[3] < most:
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM).NewDecoder()
	case little && !big:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder()
	case big && !little:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder()
	}
	return nil
}

// isBinary reports whether a content is of a known binary format, or one byte in ten is a control
// character that texts do not have.
func isBinary(head []byte) bool {
	kind := http.DetectContentType(head)
	if kind != "application/octet-stream" && !strings.HasPrefix(kind, "text/") {
		return true
	}
	controls := 0
	for _, b := range head {
		if b < ' ' && !bytes.ContainsRune([]byte("\t\n\v\f\r\x1b\b"), rune(b)) || b == 0x7f {
			controls++
		}
	}
	return controls*10 > len(head)
}

// validPrefix reports whether head is UTF-8 but for a character that its end has cut.
func validPrefix(head []byte) bool {
	for range 4 {
		if bytes.Equal(head, bytes.ToValidUTF8(head, nil)) {
			return true
		}
		if len(head) > 0 {
			head = head[:len(head)-1]
		}
	}
	return false
}

// withoutNUL leaves NUL bytes out.
type withoutNUL struct{ r io.Reader }

func (w withoutNUL) Read(p []byte) (int, error) {
	for {
		n, err := w.r.Read(p)
		kept := bytes.ReplaceAll(p[:n], []byte{0}, nil)
		copy(p, kept)
		if len(kept) > 0 || err != nil || n == 0 {
			return len(kept), err
		}
	}
}
