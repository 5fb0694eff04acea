package app

import (
	"io"

	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
)

// App is what a command runs with.
type App struct {
	*config.Settings
	Out io.Writer
	Err io.Writer
	In  io.Reader

	TenantGiven bool // on the command line
	PortGiven   bool // --nats-port, on the command line
	HTTPGiven   bool // --http-addr, on the command line
	DirGiven    bool // --dir, on the command line
	Migrating   bool // the log may be on its way from one database to another
	Beside      bool // another process works on the data folder: nothing is kept there
}

// Progress shows how far what is done.
func (a *App) Progress(what string) *terminal.ProgressBar {
	return terminal.NewProgressBar(a.Err, what)
}
