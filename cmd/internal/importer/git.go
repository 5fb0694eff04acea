package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/importer/source/gitlog"
	"satchel/cmd/internal/terminal"
)

// Git is satchel import git.
type Git struct {
	Flags
	Repo  string `arg:"" optional:"" help:"Folder of the repository; default the working directory." default:"."`
	Name  string `help:"Name of the repository; default the last part of its origin, or the folder's."`
	Ref   string `help:"Branch, tag or commit to read." default:"HEAD"`
	Since string `help:"Read what came after this commit; default what the log lacks." placeholder:"SHA"`
	All   bool   `help:"Read the whole history, also what the log has."`
}

// Help shows how it is called.
func (Git) Help() string {
	return `Each commit becomes an item of kind commit, commit:<sha>: its message, author, files, insertions and
deletions, the commit time as created_at. Only what the log lacks is read: the log is asked, and nothing
is kept anywhere else. A commit of more than 256 files names the first 256 and how many there are.

Examples:
  satchel import git
  satchel import git ~/src/kiln --label level:internal --label project:kiln
  satchel import git --since v1.4.0`
}

// GitResult is what import git prints.
type GitResult struct {
	Repo      string `json:"repo"`
	Head      string `json:"head"`
	Since     string `json:"since,omitempty"`
	Total     int    `json:"total"` // commits of the history, or since the one that was named
	Read      int    `json:"read"`  // of these; what came before is known
	Published int    `json:"published"`
	New       int    `json:"new"`
	Known     int    `json:"known"` // of the total, what the log had already
	Malformed int    `json:"malformed"`
	Refused   int    `json:"refused"` // by the worker
	Merges    int    `json:"merges"`
	Cut       int    `json:"cut"` // commits whose list of files or message is cut
	Shallow   bool   `json:"shallow,omitempty"`
	Indexed   bool   `json:"indexed"`
}

// Run publishes the history.
func (c *Git) Run(ctx context.Context, a *app.App) error {
	did, err := c.run(ctx, a)
	if err != nil {
		return err
	}
	return ending{did.Indexed, did.Malformed, did.Refused}.report(a, did, did.words())
}

// run publishes the history and says how much of it there was.
func (c *Git) run(ctx context.Context, a *app.App) (*GitResult, error) {
	repo, err := openRepo(ctx, c.Repo, c.Ref)
	if err != nil {
		return nil, err
	}
	c.Name = cmp.Or(c.Name, repo.Name)
	since := ""
	if c.Since != "" {
		since, err = repo.Resolve(ctx, c.Since)
	}
	if err != nil {
		return nil, config.Usagef("--since: %v", err)
	}
	p, err := newPublisher(ctx, a, c.Flags)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if since == "" && !c.All {
		since, err = c.resume(ctx, p, repo)
	}
	if err != nil {
		return nil, err
	}
	did := &GitResult{Repo: c.Name, Head: repo.Head, Since: since, Shallow: repo.Shallow}
	if err := c.publish(ctx, p, repo, did); err != nil {
		return nil, err
	}
	did.Published = p.Published
	did.New = p.New()
	did.Malformed = p.Malformed
	did.Refused = p.Refused
	did.Total = did.Read
	if c.Since == "" {
		did.Total, err = repo.Count(ctx, "")
	}
	did.Known = did.Total - did.Read + p.Known
	return did, err
}

// openRepo opens a repository; what is wrong with it is what is wrong with the command.
func openRepo(ctx context.Context, dir, ref string) (*gitlog.Repo, error) {
	repo, err := gitlog.Open(ctx, dir, ref)
	if gitlog.IsNone(err) || errors.Is(err, gitlog.ErrRevision) || errors.Is(err, os.ErrNotExist) {
		return nil, &config.UsageError{Err: err}
	}
	return repo, err
}

// resume returns the newest commit that the log has with all its ancestors.
func (c *Git) resume(ctx context.Context, p *publisher, repo *gitlog.Repo) (string, error) {
	chain, err := repo.Chain(ctx, 0)
	if err != nil {
		return "", err
	}
	return gitlog.Resume(chain, func(sha string) (bool, error) {
		commit, err := repo.Commit(ctx, sha)
		if err != nil {
			return false, err
		}
		item := commit.Item(c.Name, p.a.Tenant, c.labels())
		id, issues := encodeItem(&item)
		if len(issues) > 0 {
			return false, nil
		}
		return p.isLogged(ctx, id)
	})
}

func (c *Git) publish(ctx context.Context, p *publisher, repo *gitlog.Repo, did *GitResult) error {
	total, err := repo.Count(ctx, did.Since)
	if err != nil {
		return err
	}
	bar := p.a.Progress("importing commits")
	defer bar.End()
	err = repo.Log(ctx, did.Since, func(commit *gitlog.Commit) error {
		did.Read++
		if len(commit.Parents) > 1 {
			did.Merges++
		}
		if commit.Cut || len(commit.Files) < commit.FilesTotal {
			did.Cut++
		}
		bar.Set(int64(did.Read), int64(total))
		return p.add(ctx, "commit "+commit.SHA, commit.Item(c.Name, p.a.Tenant, c.labels()))
	})
	if err != nil {
		return err
	}
	did.Indexed, err = p.finish(ctx)
	return err
}

// words says what the import did.
func (d *GitResult) words() string {
	since := ""
	if d.Total == d.Read && d.Since != "" {
		since = fmt.Sprintf(" since %.10s", d.Since)
	}
	merges := ""
	if d.Merges > 0 {
		merges = "; " + terminal.Plural(d.Merges, "merge", "merges")
	}
	cut := ""
	if d.Cut > 0 {
		cut = fmt.Sprintf("; %d cut: more than %d files, or a message over %d KiB", d.Cut, gitlog.MaxFiles, gitlog.MaxMessage>>10)
	}
	shallow := ""
	if d.Shallow {
		shallow = "the clone is shallow: older commits are not in it (git fetch --unshallow)\n"
	}
	return fmt.Sprintf("%s: %s%s: %d new, %d known already%s%s%s\n%s", d.Repo, terminal.Plural(d.Total, "commit", "commits"), since, d.New, d.Known,
		ifAny(d.Refused, ", %d refused"), merges, cut, shallow)
}

// Repo is satchel import repo.
type Repo struct {
	Flags
	Dir  string `arg:"" optional:"" help:"Folder of the repository; default the working directory." default:"."`
	Name string `help:"Name of the repository in ids; default the last part of its origin, or the folder's."`
	All  bool   `help:"Read the whole history and all files, also what the log has."`
}

// Help shows how it is called.
func (Repo) Help() string {
	return `Imports a git repository: its commits as import git does, its code as import code does, and its
documentation (.md, .markdown, .mdx, .rst), an item for each heading. Vendored, generated, minified, binary and large
files are left out and counted. Files that .gitignore names are neither read nor counted, unless git tracks them.

Importing again reads and stores what changed. Functions, constants and sections that are gone since the last import end
(valid_to): requests show them no longer.

Examples:
  satchel import repo
  satchel import repo ~/src/kiln --label level:internal --label project:kiln`
}

// RepoResult is what import repo prints.
type RepoResult struct {
	Commits *GitResult  `json:"commits"`
	Files   *CodeResult `json:"files"`
}

// Run publishes commits, code and documentation.
func (c *Repo) Run(ctx context.Context, a *app.App) error {
	if repo, err := gitlog.Open(ctx, c.Dir, ""); err == nil && repo.Bare {
		return config.Usagef("%s is a bare repository and has no files: read its commits with satchel import git %s", c.Dir, c.Dir)
	}
	git := Git{Flags: c.Flags, Repo: c.Dir, Name: c.Name, All: c.All}
	commits, err := git.run(ctx, a)
	if err != nil {
		return err
	}
	if !a.JSON {
		fmt.Fprint(a.Out, commits.words())
	}
	code := Code{Flags: c.Flags, Dir: c.Dir, Name: git.Name, All: c.All}
	files, err := code.run(ctx, a, true)
	if err != nil {
		return err
	}
	end := ending{commits.Indexed && files.Indexed, commits.Malformed + files.Malformed, commits.Refused + files.Refused}
	return end.report(a, RepoResult{commits, files}, files.words())
}
