package importer

import (
	"context"
	"fmt"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/importer/source/gitlog"
)

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
