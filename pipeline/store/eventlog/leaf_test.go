package eventlog

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func FuzzParseExtensions(f *testing.F) {
	f.Add([]byte("datacontenttype 16 application/json\ntraceparent 4 00-x\n"))
	f.Add([]byte("a 0 \nb 3 x\ny\n"))
	f.Add([]byte("a 99999999999 x\n"))
	f.Add([]byte("a 01 x\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		ext, err := ParseExtensions(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%v is not ErrCorrupt", err)
			}
			return
		}
		if again := CanonicalExtensions(ext); !bytes.Equal(again, b) {
			t.Fatalf("%q parses, but its canonical form is %q", b, again)
		}
	})
}

func FuzzParseRefs(f *testing.F) {
	f.Add([]byte("ref 3 a b\nref 0 \n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		refs, err := ParseRefs(b)
		if err == nil && !bytes.Equal(CanonicalRefs(refs), b) {
			t.Fatalf("%q parses, but is not canonical", b)
		}
	})
}

func FuzzParsePreimage(f *testing.F) {
	whole := Row{Position: 7, Agent: "a b", Type: "t", Source: "s", ID: "i\n", Subject: "x", Time: time.Unix(1, 5).UTC(), RecordedAt: time.Unix(2, 0).UTC(), Commitment: [32]byte{1}, Attachment: [32]byte{2}}
	f.Add(whole.Preimage("main"))
	f.Add((&Row{Position: 1, Type: "t", Source: "s", ID: "i", RecordedAt: time.Unix(2, 0).UTC()}).Preimage("main"))
	f.Add([]byte(preimageTitle))
	f.Fuzz(func(t *testing.T, b []byte) {
		row, err := ParsePreimage("main", b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%v is not ErrCorrupt", err)
			}
			return
		}
		if !bytes.Equal(row.Preimage("main"), b) {
			t.Fatalf("%q parses, but is not the preimage of what was parsed", b)
		}
	})
	if got, err := ParsePreimage("main", whole.Preimage("main")); err != nil || !cmp.Equal(got, whole) {
		f.Errorf("parsed %+v, %v", got, err)
	}
	if _, err := ParsePreimage("other", whole.Preimage("main")); err == nil {
		f.Error("another tenant's preimage parses")
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ext := rapid.MapOf(rapid.StringMatching(`[a-z0-9_]{1,20}`), rapid.String()).Draw(t, "extensions")
		got, err := ParseExtensions(CanonicalExtensions(ext))
		if err != nil || !maps.Equal(got, ext) {
			t.Fatalf("%v, %v", got, err)
		}
		refs := rapid.SliceOf(rapid.String()).Draw(t, "refs")
		back, err := ParseRefs(CanonicalRefs(refs))
		if err != nil || !slices.Equal(back, refs) {
			t.Fatalf("%v, %v", back, err)
		}
	})
}
