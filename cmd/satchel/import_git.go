package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"satchel/cmd/satchel/internal/source/gitlog"
)

type importGitCmd struct {
	importAs
	Repo  string `arg:"" optional:"" help:"Folder of the repository; default the working directory." default:"."`
	Name  string `help:"Name of the repository; default the last part of its origin, or the folder's."`
	Ref   string `help:"Branch, tag or commit to read." default:"HEAD"`
	Since string `help:"Read what came after this commit; default what the log lacks." placeholder:"SHA"`
	All   bool   `help:"Read the whole history, also what the log has."`
}

// Help shows how it is called.
func (importGitCmd) Help() string {
	return `Each commit becomes an item of kind commit, commit:<sha>: its message, author, files, insertions and
deletions, the commit time as created_at. Only what the log lacks is read: the log is asked, and nothing
is kept anywhere else. A commit of more than 256 files names the first 256 and how many there are.

Examples:
  satchel import git
  satchel import git ~/src/kiln --label level:internal --label project:kiln
  satchel import git --since v1.4.0`
}

// gitImported is what import git prints.
type gitImported struct {
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
func (c *importGitCmd) Run(ctx context.Context, a *app) error {
	repo, err := openRepo(ctx, c.Repo, c.Ref)
	if err != nil {
		return err
	}
	if c.Name == "" {
		c.Name = repo.Name()
	}
	since := ""
	if c.Since != "" {
		if since, err = repo.Resolve(ctx, c.Since); err != nil {
			return usagef("--since: %v", err)
		}
	}
	p, err := a.newPublisher(ctx, c.importAs)
	if err != nil {
		return err
	}
	defer p.close()
	if since == "" && !c.All {
		if since, err = c.resume(ctx, p, repo); err != nil {
			return err
		}
	}
	did := gitImported{Repo: c.Name, Head: repo.Head(), Since: since, Shallow: repo.Shallow()}
	if err := c.publish(ctx, a, p, repo, &did); err != nil {
		return err
	}
	did.Published, did.New, did.Malformed, did.Refused = p.Published, p.New(), p.Malformed, p.Refused()
	if did.Total = did.Read; c.Since == "" {
		if did.Total, err = repo.Count(ctx, ""); err != nil {
			return err
		}
	}
	did.Known = did.Total - did.Read + p.Known
	return did.print(a)
}

// openRepo opens a repository; what is wrong with it is what is wrong with the command.
func openRepo(ctx context.Context, dir, ref string) (*gitlog.Repo, error) {
	repo, err := gitlog.Open(ctx, dir, ref)
	for _, usage := range []error{gitlog.ErrNoGit, gitlog.ErrNotRepo, gitlog.ErrNoCommits, gitlog.ErrRevision, os.ErrNotExist} {
		if errors.Is(err, usage) {
			return nil, &usageError{err}
		}
	}
	return repo, err
}

// resume returns the newest commit that the log has with all its ancestors.
func (c *importGitCmd) resume(ctx context.Context, p *publisher, repo *gitlog.Repo) (string, error) {
	chain, err := repo.Chain(ctx, 0)
	if err != nil {
		return "", err
	}
	return gitlog.Resume(chain, func(sha string) (bool, error) {
		commit, err := repo.Commit(ctx, sha)
		if err != nil {
			return false, err
		}
		item, err := commit.Item(c.Name, p.a.Tenant, c.Label)
		if err != nil {
			return false, err
		}
		return p.known(ctx, &item)
	})
}

func (c *importGitCmd) publish(ctx context.Context, a *app, p *publisher, repo *gitlog.Repo, did *gitImported) error {
	total, err := repo.Count(ctx, did.Since)
	if err != nil {
		return err
	}
	bar := a.bar("importing commits")
	defer bar.end()
	err = repo.Log(ctx, did.Since, func(commit *gitlog.Commit) error {
		did.Read++
		if len(commit.Parents) > 1 {
			did.Merges++
		}
		if commit.Cut || len(commit.Files) < commit.FilesTotal {
			did.Cut++
		}
		item, err := commit.Item(c.Name, a.Tenant, c.Label)
		if err != nil {
			return err
		}
		bar.set(int64(did.Read), int64(total))
		return p.add(ctx, "commit "+commit.SHA, item)
	})
	if err != nil {
		return err
	}
	did.Indexed, err = p.finish(ctx)
	return err
}

func (d *gitImported) print(a *app) error {
	if a.JSON {
		return errors.Join(a.printJSON(d), leftOut(d.Malformed, d.Refused))
	}
	since := ""
	if d.Total == d.Read && d.Since != "" {
		since = fmt.Sprintf(" since %.10s", d.Since)
	}
	fmt.Fprintf(a.out, "%s: %s%s: %d new, %d known already", d.Repo, plural(d.Total, "commit", "commits"), since, d.New, d.Known)
	if d.Refused > 0 {
		fmt.Fprintf(a.out, ", %d refused", d.Refused)
	}
	if d.Merges > 0 {
		fmt.Fprintf(a.out, "; %s", plural(d.Merges, "merge", "merges"))
	}
	if d.Cut > 0 {
		fmt.Fprintf(a.out, "; %d cut: more than %d files, or a message over %d KiB", d.Cut, gitlog.MaxFiles, gitlog.MaxMessage>>10)
	}
	fmt.Fprintln(a.out)
	if d.Shallow {
		fmt.Fprintln(a.out, "the clone is shallow: older commits are not in it (git fetch --unshallow)")
	}
	return printUnfinished(a, d.Indexed, d.Malformed, d.Refused)
}

// printUnfinished says what an import has not done.
func printUnfinished(a *app, indexed bool, malformed, refused int) error {
	if !indexed {
		fmt.Fprintln(a.out, "all is published; the indexes are still catching up")
	}
	return leftOut(malformed, refused)
}
