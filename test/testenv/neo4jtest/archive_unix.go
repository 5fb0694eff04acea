//go:build unix

package neo4jtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"satchel/test/testenv/internal/process"
)

// archivePath is where the classes that the server loads are kept, ready to be mapped: it
// starts in half the time. Java ignores it when it is not of its own making.
func archivePath(home string) string { return filepath.Join(home, "classes.jsa") }

// archivedWork makes the server load what tests use.
var archivedWork = [...]string{
	"CREATE CONSTRAINT work IF NOT EXISTS FOR (n:Work) REQUIRE (n.tenant, n.id) IS UNIQUE",
	"UNWIND range(1, 20) AS i MERGE (a:Work {tenant: 't', id: toString(i)}) ON CREATE SET a.at = i, a.labels = ['x', 'y'] MERGE (b:Work {tenant: 't', id: toString(i+1)}) MERGE (a)-[r:NEXT {rel: 'follows'}]->(b) SET r.at = i",
	"MATCH (a:Work {tenant: 't', id: '1'})-[r:NEXT]-(b) WHERE r.at > 0 AND any(x IN b.labels WHERE x IN ['x']) WITH DISTINCT b, min(r.at) AS at ORDER BY at LIMIT 5 RETURN b.id, collect(at)",
	"MATCH (n:Work) WHERE n.tenant STARTS WITH 't' DETACH DELETE n",
	"DROP CONSTRAINT work IF EXISTS",
}

// archiveClasses runs a server once, over a folder that goes again, and keeps its classes.
// The caller holds the lock on home.
func archiveClasses(home string) (err error) {
	dir, err := os.MkdirTemp("", "satchel-neo4j-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	data, part := filepath.Join(dir, "data"), filepath.Join(dir, "classes.jsa")
	info, err := initHome(home, data)
	if err != nil {
		return err
	}
	command := serverCommand(home, data)
	cmd := process.Own().Command(command[0], append([]string{"-XX:ArchiveClassesAtExit=" + part}, command[1:]...)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	err = process.Await(info.Ping)
	for _, statement := range archivedWork {
		if err == nil {
			err = execute(info.url(), user, info.Password, statement, nil)
		}
	}
	err = errors.Join(err, cmd.Process.Signal(syscall.SIGTERM))
	var exit *exec.ExitError
	if e := cmd.Wait(); e != nil && !errors.As(e, &exit) {
		err = errors.Join(err, e)
	}
	if err != nil {
		return fmt.Errorf("keep the classes of Neo4j: %w", err)
	}
	raw, err := os.ReadFile(part)
	if err != nil {
		return fmt.Errorf("keep the classes of Neo4j: %w", err)
	}
	to := archivePath(home)
	return errors.Join(os.WriteFile(to+".part", raw, 0o600), os.Rename(to+".part", to))
}
