package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/zip"
)

// publish writes the tracked files of the working folder into dir as version of the module path. Files that git does
// not track stay out. Equal files and an equal commit time give equal bytes.
func publish(ctx context.Context, dir, path, version string) (err error) {
	if err := module.Check(path, version); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	names, err := git(ctx, "ls-files", "-z")
	if err != nil {
		return err
	}
	committed, err := git(ctx, "log", "-1", "--format=%cI")
	if err != nil {
		return err
	}
	tree, err := os.MkdirTemp("", "publish-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tree)) }()
	mod, err := rename("go.mod", path)
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimRight(names, "\x00"), "\x00") {
		data, err := rename(name, path)
		if err == nil {
			err = writeFile(filepath.Join(tree, name), data)
		}
		if err != nil {
			return fmt.Errorf("publish %s: %w", name, err)
		}
	}
	escaped, err := module.EscapePath(path)
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]string{"Version": version, "Time": strings.TrimSpace(committed)})
	if err != nil {
		return err
	}
	at := filepath.Join(dir, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	made := filepath.Join(at, version+".zip.new")
	kept := filepath.Join(at, version+".zip")
	defer os.Remove(made)
	if err := pack(made, module.Version{Path: path, Version: version}, tree); err != nil {
		return err
	}
	same, err := equal(made, kept)
	if err != nil {
		return err
	}
	if !same {
		return fmt.Errorf("%s has other bytes: a version that was published must not change; name another", kept)
	}
	err = errors.Join(os.Rename(made, kept), writeFile(filepath.Join(at, version+".mod"), mod), writeFile(filepath.Join(at, version+".info"), info))
	if err != nil {
		return err
	}
	return list(filepath.Join(at, "list"), version)
}

// equal reports whether a file has the bytes of another one, or that one is not there.
func equal(path, other string) (bool, error) {
	old, err := os.ReadFile(other)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	data, err := os.ReadFile(path)
	return bytes.Equal(data, old), err
}

// pack makes the zip of a module from the files of tree.
func pack(path string, m module.Version, tree string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return zip.CreateFromDir(file, m, tree)
}

// list adds version to the versions of the module that the folder has.
func list(path, version string) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	versions := append(strings.Fields(string(old)), version)
	semver.Sort(versions)
	return writeFile(path, []byte(strings.Join(slices.Compact(versions), "\n")+"\n"))
}

// rename returns the bytes of a file of the module, with path in the place of the module's own path.
func rename(name, path string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	switch {
	case name == "go.mod":
		f, err := modfile.Parse(name, data, nil)
		if err != nil {
			return nil, err
		}
		if err := f.AddModuleStmt(path); err != nil {
			return nil, err
		}
		return f.Format()
	case strings.HasSuffix(name, ".go"):
		return renameImports(name, data, path)
	}
	return data, nil
}

// renameImports renames the imports of a Go file. Other strings that look like imports stay, such as origins of logs.
func renameImports(name string, data []byte, path string) ([]byte, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, data, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	renamed := data
	for _, spec := range slices.Backward(f.Imports) {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		rest, ours := strings.CutPrefix(imported, "satchel/")
		if !ours {
			continue
		}
		from := set.Position(spec.Path.Pos()).Offset
		to := set.Position(spec.Path.End()).Offset
		renamed = slices.Concat(renamed[:from], []byte(strconv.Quote(path+"/"+rest)), renamed[to:])
	}
	return format.Source(renamed)
}

func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

func git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", args[0], err, said.String())
	}
	return string(out), nil
}
