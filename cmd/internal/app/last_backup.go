package app

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"satchel/pipeline/infra/files"
)

// lastBackupFile is where satchel backup notes in the data folder that it succeeded. It is another
// process than the one that serves the folder, and may be none of its children.
const lastBackupFile = "backup.last"

// LastBackup is the last backup of the data folder that succeeded.
type LastBackup struct {
	Made    time.Time `json:"made"`    // when it began
	Entries int64     `json:"entries"` // of all tenants
}

// NoteBackup notes a backup for the process that serves the folder.
func (a *App) NoteBackup(b LastBackup) error {
	err := files.Write(a.Path(lastBackupFile), func(w io.Writer) error { return json.NewEncoder(w).Encode(b) })
	if err != nil {
		return fmt.Errorf("note backup: %w", err)
	}
	return nil
}

// lastBackup returns what was noted last. It fails when there is nothing, or nothing that can be read.
func (a *App) lastBackup() (b LastBackup, err error) {
	raw, err := os.ReadFile(a.Path(lastBackupFile))
	if err != nil {
		return LastBackup{}, fmt.Errorf("read last backup: %w", err)
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return LastBackup{}, fmt.Errorf("read last backup: %w", err)
	}
	return b, nil
}
