package neo4j

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
)

// ErrUnusable is returned by Open when settings or server rule out any work: the text
// says in one sentence what to change.
var ErrUnusable = errors.New("Neo4j cannot be used")

// The oldest server whose Cypher has every clause used here.
const minMajor, minMinor = 5, 23

// constraints are created at the start; each comes with an index.
var constraints = [...]struct{ name, statement string }{
	{"satchel_tenant", "CREATE CONSTRAINT satchel_tenant IF NOT EXISTS FOR (n:SatchelTenant) REQUIRE n.name IS UNIQUE"},
	{"satchel_item", "CREATE CONSTRAINT satchel_item IF NOT EXISTS FOR (n:SatchelItem) REQUIRE (n.tenant, n.id) IS UNIQUE"},
	{"satchel_entity", "CREATE CONSTRAINT satchel_entity IF NOT EXISTS FOR (n:SatchelEntity) REQUIRE (n.tenant, n.name) IS UNIQUE"},
}

// schemaWait is how long a server that answers may take to create the constraints.
const schemaWait = 2 * time.Minute

// nameTaken is the code for a constraint whose index stands without it: it is being created, or
// its creation was cut off.
const nameTaken = "Neo.ClientError.Schema.IndexWithNameAlreadyExists"

// prepareServer tries until the server answers and has the constraints, what it says will not
// change, or ConnectWait is over. Several processes may do so at once.
func (db *DB) prepareServer(ctx context.Context, host string) error {
	within, cancel := context.WithTimeout(ctx, db.cfg.ConnectWait)
	defer cancel()
	patient, stop := context.WithTimeout(ctx, schemaWait)
	defer stop()
	var last error // what an attempt that was cut off by the wait does not know
	for {
		err := db.checkVersion(within, host)
		if err == nil {
			within = patient // it is there: what it is doing is not cut off
			err = db.createConstraints(patient)
		}
		if err == nil {
			err = db.planUsualWalk(patient)
		}
		var refused *neo4j.Neo4jError
		if err == nil || errors.Is(err, ErrUnusable) {
			return err
		}
		if errors.As(err, &refused) && !refused.IsRetriable() && refused.Code != nameTaken {
			return db.explainUnusable(host, err)
		}
		if last == nil || within.Err() == nil {
			last = err
		}
		pause := time.NewTimer(250 * time.Millisecond)
		select {
		case <-within.Done():
			pause.Stop()
			return db.explainUnusable(host, errors.Join(ctx.Err(), last))
		case <-pause.C:
		}
	}
}

// checkVersion refuses a server that is too old.
func (db *DB) checkVersion(ctx context.Context, host string) (err error) {
	session := db.driver.NewSession(ctx, neo4j.SessionConfig{DatabaseName: db.cfg.Database})
	defer func() { err = errors.Join(err, session.Close(ctx)) }()
	rows, err := collectRecords(ctx, session, "CALL dbms.components() YIELD name, versions WHERE name = 'Neo4j Kernel' RETURN versions[0]")
	if err != nil {
		return err
	}
	if version, ok := findFirstValue(rows).(string); !ok || !isRecentVersion(version) {
		return fmt.Errorf("open graph store: %w: the server at %s is Neo4j %v, at least %d.%d is needed", ErrUnusable, host, findFirstValue(rows), minMajor, minMinor)
	}
	return nil
}

// createConstraints creates the constraints that are not there.
func (db *DB) createConstraints(ctx context.Context) (err error) {
	session := db.driver.NewSession(ctx, neo4j.SessionConfig{DatabaseName: db.cfg.Database})
	defer func() { err = errors.Join(err, session.Close(ctx)) }()
	rows, err := collectRecords(ctx, session, "SHOW CONSTRAINTS YIELD name WHERE name STARTS WITH 'satchel_' RETURN name")
	if err != nil {
		return err
	}
	there := map[any]bool{}
	for _, r := range rows {
		there[r.Values[0]] = true
	}
	for _, c := range constraints {
		if there[c.name] {
			continue
		}
		_, err := collectRecords(ctx, session, c.statement)
		var refused *neo4j.Neo4jError
		if errors.As(err, &refused) && refused.Code == nameTaken {
			// The server refuses to drop the index of a constraint, whoever has created that meanwhile.
			_, other := collectRecords(ctx, session, "DROP INDEX "+c.name+" IF EXISTS")
			return errors.Join(err, other)
		}
		if err != nil {
			return err
		}
	}
	_, err = collectRecords(ctx, session, "CALL db.awaitIndexes(60)")
	return err
}

// explainUnusable turns an error at the start into a sentence that says what to change.
func (db *DB) explainUnusable(host string, err error) error {
	says := "the server at " + host + " cannot be reached"
	var e *neo4j.Neo4jError
	if errors.As(err, &e) {
		says = "the server at " + host + " refuses: " + e.Code
		switch {
		case e.Code == "Neo.ClientError.Security.Unauthorized":
			says = fmt.Sprintf("the server at %s refuses the password of user %q", host, db.cfg.User)
		case e.Code == "Neo.ClientError.Security.CredentialsExpired":
			says = fmt.Sprintf("the password of user %q on %s has to be changed first", db.cfg.User, host)
		case e.Code == "Neo.ClientError.Security.AuthenticationRateLimit":
			says = "the server at " + host + " has seen too many wrong passwords and waits; try again later"
		case e.Code == "Neo.ClientError.Security.Forbidden":
			says = fmt.Sprintf("user %q on %s has no right to read, write or create constraints in database %q", db.cfg.User, host, db.cfg.Database)
		case e.Code == "Neo.ClientError.Database.DatabaseNotFound":
			says = fmt.Sprintf("the server at %s has no database %q", host, db.cfg.Database)
		}
	} else if errors.Is(err, context.Canceled) {
		return err
	} else {
		return fmt.Errorf("open graph store: %w: %s: %w", ErrUnusable, says, err)
	}
	return fmt.Errorf("open graph store: %w: %s", ErrUnusable, says)
}

// isRecentVersion reports whether a version is new enough; those by year ("2025.01.0") are.
func isRecentVersion(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	x, err := strconv.Atoi(major)
	y, err2 := strconv.Atoi(minor)
	return err == nil && err2 == nil && (x > minMajor || x == minMajor && y >= minMinor)
}

// collectRecords runs a statement outside a transaction of ours.
func collectRecords(ctx context.Context, s neo4j.SessionWithContext, statement string) ([]*neo4j.Record, error) {
	result, err := s.Run(ctx, statement, nil)
	if err != nil {
		return nil, err
	}
	return result.Collect(ctx)
}

// findFirstValue returns the first value of the first row, nil for none.
func findFirstValue(rows []*neo4j.Record) any {
	if len(rows) == 0 || len(rows[0].Values) == 0 {
		return nil
	}
	return rows[0].Values[0]
}
