package console

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

//go:embed pages
var pageFiles embed.FS

// parsePages reads the pages, each within the layout.
func parsePages() (map[string]*template.Template, error) {
	layout, err := template.New("").Funcs(template.FuncMap{
		"time":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") },
		"path":   url.PathEscape,
		"spaced": func(s string) string { return strings.ReplaceAll(s, "_", " ") },
		"plural": func(n int, one string) string {
			if n == 1 {
				return "1 " + one
			}
			return fmt.Sprintf("%d %ss", n, one)
		},
	}).ParseFS(pageFiles, "pages/layout.html")
	if err != nil {
		return nil, fmt.Errorf("read the layout: %w", err)
	}
	names, err := fs.Glob(pageFiles, "pages/*.html")
	if err != nil {
		return nil, fmt.Errorf("list the pages: %w", err)
	}
	all := map[string]*template.Template{}
	for _, name := range names {
		short := strings.TrimSuffix(path.Base(name), ".html")
		if short == "layout" {
			continue
		}
		t, err := layout.Clone()
		if err == nil {
			t, err = t.ParseFS(pageFiles, name)
		}
		if err != nil {
			return nil, fmt.Errorf("read page %s: %w", short, err)
		}
		all[short] = t
	}
	return all, nil
}

// renderPage writes a page. What cannot be seen in the text it shows is made visible.
func (c *console) renderPage(w http.ResponseWriter, status int, who Identity, p page) {
	var b bytes.Buffer
	err := c.pages[p.name].ExecuteTemplate(&b, "layout", struct {
		Title, Name string
		Who         Identity
		Data        any
	}{p.title, p.name, who, p.data})
	if err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(revealMarks(b.Bytes())) // the browser went away
}

// writeJSON answers a script.
func writeJSON(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		status = http.StatusInternalServerError
		raw = []byte(`{"code":"storage_error","message":"the reply could not be encoded"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(raw, '\n')) // the browser went away
}

// hidden are marks that a reader does not see, beside those of the categories Cc and Cf: fillers,
// separators and selectors.
var hidden = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034F, Hi: 0x034F, Stride: 1}, {Lo: 0x115F, Hi: 0x1160, Stride: 1}, {Lo: 0x17B4, Hi: 0x17B5, Stride: 1},
		{Lo: 0x180B, Hi: 0x180F, Stride: 1}, {Lo: 0x2028, Hi: 0x2029, Stride: 1}, {Lo: 0x2800, Hi: 0x2800, Stride: 1},
		{Lo: 0x3164, Hi: 0x3164, Stride: 1}, {Lo: 0xFE00, Hi: 0xFE0F, Stride: 1}, {Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0xE0000, Hi: 0xE0FFF, Stride: 1}},
}

// revealMarks writes marks that are not seen, or that turn text round, as ⟨U+XXXX⟩.
func revealMarks(text []byte) []byte {
	if !bytes.ContainsFunc(text, isUnseen) {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if isUnseen(r) {
			out = fmt.Appendf(out, "⟨U+%04X⟩", r)
		} else {
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	return out
}

func isUnseen(r rune) bool {
	return r != '\n' && r != '\t' && r != '\r' && (unicode.In(r, unicode.Cc, unicode.Cf) || unicode.Is(hidden, r))
}
