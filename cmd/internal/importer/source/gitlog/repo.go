// Package gitlog reads the history of a git repository as memory items of kind commit.
//
// It runs the git command, so that what git can read (packs, alternates, shallow and partial clones, work trees) it can
// read too, and it streams: memory is bounded by one commit, for every history. It never writes to the repository,
// never reaches for another one, never asks for a password, and runs no program that the repository names, be it a
// hook, filter, external diff, file monitor or transport. So it MUST NOT have git compare or read files of the work
// tree, which would run filters: [Dates] tells what is modified.
//
// # History
//
// [Repo.Log] hands commits over parents first. An importer that publishes them in this order may stop anywhere: if a
// commit was published, all its ancestors were. [Resume] finds from that, in few questions, where the last import
// ended.
package gitlog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// What a repository may be refused for.
var (
	ErrNoGit     = errors.New("the git command is not installed")
	ErrNotRepo   = errors.New("is not a git repository")
	ErrNoCommits = errors.New("has no commits")
	ErrRevision  = errors.New("is not a commit of this repository")
)

// Repo is a git repository.
type Repo struct {
	Name    string // the last part of the origin's address without ".git", or the folder's name
	Head    string // the newest commit read
	Shallow bool   // the clone lacks the older history
	Bare    bool   // it has no files beside its history

	dir    string
	cutOff map[string]bool // commits of a shallow clone whose parents it lacks
}

// Open looks at the repository that holds dir; "" is the working directory. revision names the newest commit to read,
// "" is HEAD.
func Open(ctx context.Context, dir, revision string) (*Repo, error) {
	dir = cmp.Or(dir, ".")
	if _, err := exec.LookPath("git"); err != nil {
		return nil, ErrNoGit
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("open repository: %w", err)
	}
	r := &Repo{dir: dir}
	out, err := r.output(ctx, "rev-parse", "--is-shallow-repository", "--is-bare-repository", "--git-dir")
	answers := strings.SplitN(strings.TrimSpace(out), "\n", 3)
	if err == nil && len(answers) != 3 {
		err = ErrNotRepo
	}
	if err == nil {
		r.Shallow = answers[0] == "true"
		r.Bare = answers[1] == "true"
		err = r.findCutOff(ctx)
	}
	if err == nil {
		r.Head, err = r.findHead(ctx, cmp.Or(revision, "HEAD"))
	}
	if err != nil {
		return nil, fmt.Errorf("open repository %q: %w", dir, err)
	}
	return r, r.findName(ctx, answers[2])
}

// findHead resolves the newest commit to read.
func (r *Repo) findHead(ctx context.Context, revision string) (string, error) {
	head, err := r.Resolve(ctx, revision)
	if err == nil || revision != "HEAD" {
		return head, err
	}
	if _, other := r.output(ctx, "rev-parse", "--verify", "--quiet", "HEAD"); other != nil {
		return "", ErrNoCommits
	}
	return "", err
}

// IsNone reports whether an error of Open says that there is no repository, no commit in it, or no git command.
func IsNone(err error) bool {
	return errors.Is(err, ErrNotRepo) || errors.Is(err, ErrNoCommits) || errors.Is(err, ErrNoGit)
}

// Latest returns the branches and subjects of the newest commits of the repository that holds dir, a line each.
func Latest(ctx context.Context, dir string, limit int) (string, error) {
	return (&Repo{dir: dir}).output(ctx, "log", "--max-count="+strconv.Itoa(limit), "--format=%D %s")
}

// findCutOff reads which commits are at the edge of a shallow clone.
func (r *Repo) findCutOff(ctx context.Context) error {
	if !r.Shallow {
		return nil
	}
	out, err := r.output(ctx, "rev-parse", "--git-path", "shallow")
	if err != nil {
		return err
	}
	list, err := os.ReadFile(r.resolvePath(out))
	if err != nil {
		return err
	}
	r.cutOff = map[string]bool{}
	for _, sha := range strings.Fields(string(list)) {
		r.cutOff[sha] = true
	}
	return nil
}

// resolvePath is where a path is that git printed.
func (r *Repo) resolvePath(printed string) string {
	name := strings.TrimSpace(printed)
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(r.dir, name)
}

// findName takes the last part of the origin's address, or the name of the folder.
func (r *Repo) findName(ctx context.Context, gitDir string) error {
	origin, err := r.output(ctx, "config", "--get", "remote.origin.url")
	if ctx.Err() != nil {
		return ctx.Err()
	}
	name := strings.TrimSpace(origin)
	name = name[strings.LastIndexAny(name, "/\\:")+1:]
	if name == "" || err != nil {
		top, err := r.output(ctx, "rev-parse", "--show-toplevel")
		if r.Bare || err != nil {
			top = r.resolvePath(gitDir)
		}
		top, err = filepath.Abs(strings.TrimSpace(top))
		if err != nil {
			return fmt.Errorf("name repository %q: %w", r.dir, err)
		}
		name = path.Base(filepath.ToSlash(top))
	}
	r.Name = cmp.Or(strings.TrimSuffix(strings.ToValidUTF8(name, "�"), ".git"), "repository")
	return nil
}

// Resolve returns the full id of a commit; ErrRevision when there is none by that name.
func (r *Repo) Resolve(ctx context.Context, revision string) (string, error) {
	out, err := r.output(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		err = fmt.Errorf("%q %w", revision, ErrRevision)
	}
	return strings.TrimSpace(out), err
}

// Chain returns the first parents of the newest commit, newest first, itself included.
func (r *Repo) Chain(ctx context.Context, limit int) ([]string, error) {
	args := []string{"rev-list", "--first-parent"}
	if limit > 0 {
		args = append(args, "--max-count="+strconv.Itoa(limit))
	}
	out, err := r.output(ctx, append(args, r.Head)...)
	if err != nil {
		return nil, fmt.Errorf("list commits: %w", err)
	}
	return strings.Fields(out), nil
}

// Count returns how many commits Log would hand over.
func (r *Repo) Count(ctx context.Context, since string) (int, error) {
	out, err := r.output(ctx, append([]string{"rev-list", "--count"}, r.span(since)...)...)
	n := 0
	if err == nil {
		n, err = strconv.Atoi(strings.TrimSpace(out))
	}
	if err != nil {
		return 0, fmt.Errorf("count commits: %w", err)
	}
	return n, nil
}

// span is what is reachable from the newest commit and not from since, "" for all.
func (r *Repo) span(since string) []string {
	if since == "" {
		return []string{r.Head}
	}
	return []string{r.Head, "^" + since}
}

// Resume returns the newest commit of chain, which is newest first, that known says was published, "" when none was.
// Since a commit is published after its ancestors, it asks about a logarithm of the chain.
func Resume(chain []string, known func(sha string) (bool, error)) (string, error) {
	low := 0
	high := len(chain) // all before low are unknown, all from high on are known
	for probe := len(chain) - 1; low < high; probe = (low + high - 1) / 2 {
		yes, err := known(chain[probe])
		switch {
		case err != nil:
			return "", err
		case yes:
			high = probe
		default:
			low = probe + 1
		}
	}
	if high == len(chain) {
		return "", nil
	}
	return chain[high], nil
}

// command is git, told to keep to itself.
func (r *Repo) command(ctx context.Context, args ...string) *exec.Cmd {
	quiet := []string{"-C", r.dir, "--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "log.showSignature=false",
		"-c", "core.hooksPath=" + os.DevNull, "-c", "diff.external=", "-c", "i18n.logOutputEncoding=UTF-8"}
	cmd := exec.CommandContext(ctx, "git", append(quiet, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_REPLACE_OBJECTS=1")
	return cmd
}

// output runs git and returns what it printed.
func (r *Repo) output(ctx context.Context, args ...string) (string, error) {
	var printed []byte
	err := r.stream(ctx, func(out io.Reader) (err error) {
		printed, err = io.ReadAll(out)
		return err
	}, args...)
	if err != nil {
		return "", err
	}
	return string(printed), nil
}

// stream runs git and hands what it prints to read, which need not read all of it.
func (r *Repo) stream(ctx context.Context, read func(io.Reader) error, args ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := r.command(ctx, args...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("run git %s: %w", args[0], err)
	}
	readErr := read(out)
	if readErr != nil {
		cancel()
	}
	err = cmd.Wait()
	switch {
	case errors.Is(readErr, errEnough):
		return nil
	case readErr != nil:
		return readErr
	case err != nil:
		return explainFailure(ctx, err, complaint.String())
	}
	return nil
}

// errEnough ends a stream early, without an error.
var errEnough = errors.New("enough was read")

// explainFailure says in git's words why it failed.
func explainFailure(ctx context.Context, err error, complaint string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	line, _, _ := strings.Cut(strings.TrimSpace(complaint), "\n")
	line = strings.TrimPrefix(line, "fatal: ")
	switch {
	case strings.HasPrefix(line, "not a git repository"):
		return ErrNotRepo
	case line == "":
		return fmt.Errorf("run git: %w", err)
	}
	return fmt.Errorf("run git: %s: %w", line, err)
}
