package gitlog

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"time"
)

// Files lists what git tracks below the folder and what it does not ignore, with paths from the folder, sorted.
func (r *Repo) Files(ctx context.Context) ([]string, error) {
	out, err := r.output(ctx, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	return splitNames(out), nil
}

// Differ lists the files below the folder that are other in the newest commit than in since, or gone.
func (r *Repo) Differ(ctx context.Context, since string) ([]string, error) {
	out, err := r.output(ctx, "diff", "--name-only", "-z", "--relative", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", since, r.Head, "--")
	if err != nil {
		return nil, fmt.Errorf("compare with %.10s: %w", since, err)
	}
	return splitNames(out), nil
}

func splitNames(out string) []string {
	return strings.FieldsFunc(out, func(c rune) bool { return c == 0 })
}

// Text returns the file called name, from the folder, as it is in a commit; nil when it has none.
func (r *Repo) Text(ctx context.Context, sha, name string, limit int64) ([]byte, error) {
	var text []byte
	err := r.stream(ctx, func(out io.Reader) (err error) {
		text, err = io.ReadAll(io.LimitReader(out, limit))
		if err == nil && int64(len(text)) == limit {
			err = errEnough
		}
		return err
	}, "show", "--no-textconv", sha+":./"+name)
	if err != nil {
		return nil, ctx.Err() // else it is not in that commit
	}
	return text, nil
}

// Dates tells when the files of a folder changed last. The zero value knows of no commit.
type Dates struct {
	committed map[string]time.Time
	blobs     map[string]blob
}

// Dates reads when files, with paths from the folder, were last changed by a commit.
func (r *Repo) Dates(ctx context.Context, files []string) (d Dates, err error) {
	d.blobs, err = r.blobs(ctx)
	if err != nil {
		return d, err
	}
	tracked := slices.DeleteFunc(slices.Clone(files), func(name string) bool { return d.blobs[name] == "" })
	d.committed, err = r.changed(ctx, tracked)
	return d, err
}

// Of returns when the file called name, which holds text, changed last, and whether a commit says so. For text that no
// commit has, it is the time on disk.
func (d *Dates) Of(name string, text []byte, onDisk time.Time) (at time.Time, committed bool) {
	if at, ok := d.committed[name]; ok && d.blobs[name].is(text) {
		return at, true
	}
	return onDisk.Truncate(time.Second), false
}

// fewFiles is how many files git is asked about by name.
const fewFiles = 64

// changed returns when each of files, with paths from the folder, was last changed by a commit. What no commit has is
// left out. It reads the history until all are found.
func (r *Repo) changed(ctx context.Context, files []string) (map[string]time.Time, error) {
	changed := make(map[string]time.Time, len(files))
	if len(files) == 0 {
		return changed, nil
	}
	missing := make(map[string]bool, len(files))
	for _, f := range files {
		missing[f] = true
	}
	below := files
	if len(files) > fewFiles {
		below = []string{"."}
	}
	err := r.stream(ctx, func(out io.Reader) error {
		t := &tokens{r: bufio.NewReaderSize(out, 1<<16)}
		var at time.Time
		for len(missing) > 0 {
			token, err := t.next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(token, "\n")
			if seconds, ok := strings.CutPrefix(token, mark); ok {
				at = readTime(seconds)
			} else if missing[name] {
				delete(missing, name)
				changed[name] = at
			}
		}
		return errEnough
	}, append([]string{"log", "--format=tformat:%x01%ct", "--name-only", "-z", "--no-renames", "--relative", "--diff-merges=first-parent", "--no-ext-diff", "--no-textconv", r.Head, "--"}, below...)...)
	if err != nil {
		return nil, fmt.Errorf("find when files changed: %w", err)
	}
	return changed, nil
}

// blobs returns what each file below the folder is in the newest commit, with paths from the folder.
func (r *Repo) blobs(ctx context.Context) (map[string]blob, error) {
	out, err := r.output(ctx, "ls-tree", "-r", "-z", r.Head, "--", ".")
	if err != nil {
		return nil, fmt.Errorf("list what is committed: %w", err)
	}
	blobs := map[string]blob{}
	for _, entry := range splitNames(out) {
		about, name, _ := strings.Cut(entry, "\t")
		if f := strings.Fields(about); len(f) == 3 && f[1] == "blob" {
			blobs[name] = blob(f[2])
		}
	}
	return blobs, nil
}

// blob is the id of a file's content: the SHA-1, or in a repository of that format the SHA-256, of "blob", its size and
// the content.
type blob string

// is reports whether a file of the work tree that holds text is what is committed, but for ends of lines, which git may
// write as the platform has them. It works on the text: to ask git would run the filters that the repository
// configures.
func (b blob) is(text []byte) bool {
	return b.holds(text) || bytes.Contains(text, []byte("\r\n")) && b.holds(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
}

func (b blob) holds(text []byte) bool {
	var sum hash.Hash
	switch len(b) {
	case hex.EncodedLen(sha1.Size):
		sum = sha1.New()
	case hex.EncodedLen(sha256.Size):
		sum = sha256.New()
	default:
		return false
	}
	sum.Write(fmt.Appendf(nil, "blob %d\x00", len(text)))
	sum.Write(text)
	return hex.EncodeToString(sum.Sum(nil)) == string(b)
}
