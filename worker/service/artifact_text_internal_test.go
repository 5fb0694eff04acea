package service

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"unicode/utf16"
)

// Whatever way a text is written, what masks it can read it.
func TestTextOf(t *testing.T) {
	t.Parallel()
	const line = "user=mara password=Kestrel-9! card 4111 1111 1111 1111\n"
	text := strings.Repeat(line, 300)
	wide := func(order binary.AppendByteOrder, mark bool) string {
		var out []byte
		if mark {
			out = order.AppendUint16(out, 0xfeff)
		}
		for _, u := range utf16.Encode([]rune(text)) {
			out = order.AppendUint16(out, u)
		}
		return string(out)
	}
	wider := func(order binary.AppendByteOrder) string {
		var out []byte
		for _, r := range text {
			out = order.AppendUint32(out, uint32(r))
		}
		return string(out)
	}
	for name, content := range map[string]string{
		"utf-8":             text,
		"a NUL in front":    "\x00" + text,
		"a NUL in the line": strings.ReplaceAll(text, "Kestrel", "Kes\x00trel"),
		"utf-16, mark":      wide(binary.LittleEndian, true), "utf-16be, mark": wide(binary.BigEndian, true),
		"utf-16": wide(binary.LittleEndian, false), "utf-16be": wide(binary.BigEndian, false),
		"utf-32": wider(binary.LittleEndian), "utf-32be": wider(binary.BigEndian),
		"windows-1252": "caf\xe9 \x93quoted\x94\n" + text,
		"cut utf-8":    strings.Repeat("é", 2047) + "x" + strings.Repeat("日", 40) + text,
	} {
		r, ok := textOf(bufio.NewReaderSize(strings.NewReader(content), 32<<10))
		if !ok {
			t.Errorf("%s is taken for binary", name)
			continue
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.HasSuffix(got, []byte(text)) || len(got) > len(text)+5000 {
			t.Errorf("%s: %v, %.80q", name, err, got)
		}
	}
	for name, content := range map[string]string{
		"png": "\x89PNG\r\n\x1a\n" + text, "gzip": "\x1f\x8b\x08" + text, "numbers": strings.Repeat("\x01\x02\x03\x04ab", 900),
	} {
		if _, ok := textOf(bufio.NewReaderSize(strings.NewReader(content), 32<<10)); ok {
			t.Errorf("%s is taken for text", name)
		}
	}
	if r, ok := textOf(bufio.NewReader(strings.NewReader(""))); !ok {
		t.Error("nothing is no text")
	} else if n, err := io.Copy(io.Discard, r); n != 0 || err != nil {
		t.Errorf("of nothing %d bytes are read: %v", n, err)
	}
}
