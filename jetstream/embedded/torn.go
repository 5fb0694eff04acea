package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/nats-io/nats-server/v2/server"
)

// removeTorn removes the files of consumers that the server could not read back. The server
// leaves such files where they are, and they keep the consumer from being made anew. A
// consumer's state only says where a reader was: its owner makes the consumer again and
// starts at its own checkpoint. Messages are in the stream, not in these files.
func removeTorn(srv *server.Server, dir string, log *slog.Logger) (removed int, err error) {
	state, err := srv.Jsz(&server.JSzOptions{Accounts: true, Streams: true, Consumer: true, DirectConsumer: true})
	if err != nil {
		return 0, fmt.Errorf("list consumers: %w", err)
	}
	for _, account := range state.AccountDetails {
		for _, stream := range account.Streams {
			folder := filepath.Join(dir, server.JetStreamStoreDir, account.Name, "streams", stream.Name, "obs")
			kept, err := os.ReadDir(folder)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return removed, fmt.Errorf("list consumers of stream %q: %w", stream.Name, err)
			}
			for _, entry := range kept {
				has := func(c *server.ConsumerInfo) bool { return c.Name == entry.Name() }
				if slices.ContainsFunc(stream.Consumer, has) || slices.ContainsFunc(stream.DirectConsumer, has) {
					continue
				}
				if err := os.RemoveAll(filepath.Join(folder, entry.Name())); err != nil {
					return removed, fmt.Errorf("remove torn consumer %q of stream %q: %w", entry.Name(), stream.Name, err)
				}
				removed++
				log.Warn("the saved state of a consumer was damaged and is removed: its reader makes it anew", "stream", stream.Name, "consumer", entry.Name())
			}
		}
	}
	return removed, nil
}
