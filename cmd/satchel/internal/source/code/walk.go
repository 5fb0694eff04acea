package code

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Walk lists the files below dir, with paths from it and slashes, in order; folders whose
// name begins with a dot and those that Known leaves out are passed over. It is for
// folders that are no git repository.
func Walk(ctx context.Context, dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case !d.IsDir():
			files = append(files, rel)
		case rel != "." && (strings.HasPrefix(d.Name(), ".") || Known(rel+"/x.go") == Vendored):
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	return files, nil
}

// Load reads the file called name below dir, at most as much as tells that it is too
// large. What is no regular file, such as a link or a submodule, has no text.
func Load(dir, name string) ([]byte, Reason, error) {
	p := filepath.Join(dir, filepath.FromSlash(name))
	info, err := os.Lstat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist): // tracked, and deleted in the work tree
		return nil, Unreadable, nil
	case err != nil:
		return nil, "", fmt.Errorf("read code: %w", err)
	case !info.Mode().IsRegular():
		return nil, Unreadable, nil
	}
	f, err := os.Open(p)
	if err != nil {
		return nil, Unreadable, nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, "", fmt.Errorf("read code: %w", err)
	}
	return text, "", nil
}
