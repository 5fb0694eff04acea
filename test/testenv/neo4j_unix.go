//go:build unix

package testenv

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"

	"satchel/test/parts"
)

const (
	// neo4jPart is what SATCHEL_TEST_REQUIRE calls Neo4j.
	neo4jPart    = "neo4j"
	neo4jVersion = "5.26.30"
	neo4jUser    = "neo4j"
)

// Neo4jPlace is a namespace of a test's own in a Neo4j server.
type Neo4jPlace struct {
	URL, User, Password string
	Namespace           string
}

// Neo4j returns a fresh namespace in the Neo4j Community server that the test packages
// share, or in the one that NEO4J_URL, NEO4J_USER and NEO4J_PASSWORD name. What was
// written there is removed when the test ends. The server comes from Maven Central once
// and is kept in the user's cache; a test that does not require it uses it only from there.
func Neo4j(t testing.TB) Neo4jPlace {
	t.Helper()
	p := Neo4jPlace{URL: os.Getenv("NEO4J_URL"), User: os.Getenv("NEO4J_USER"), Password: os.Getenv("NEO4J_PASSWORD"), Namespace: "test-" + strings.ToLower(rand.Text()) + "/"}
	if p.User == "" {
		p.User = neo4jUser
	}
	if p.URL == "" {
		info := sharedNeo4j(t)
		p.URL, p.User, p.Password = info.url(), neo4jUser, info.Password
	}
	t.Cleanup(func() {
		for _, label := range []string{"SatchelItem", "SatchelEntity"} {
			if err := neo4jExec(p.URL, p.User, p.Password, "MATCH (n:"+label+") WHERE n.tenant STARTS WITH $ns DETACH DELETE n", map[string]any{"ns": p.Namespace}); err != nil {
				t.Errorf("empty a namespace: %v", err)
			}
		}
		if err := neo4jExec(p.URL, p.User, p.Password, "MATCH (n:SatchelTenant) WHERE n.name STARTS WITH $ns DELETE n", map[string]any{"ns": p.Namespace}); err != nil {
			t.Errorf("empty a namespace: %v", err)
		}
	})
	return p
}

// neo4jInfo is what a process needs to connect to a server.
type neo4jInfo struct {
	Port     int    `json:"port"`
	Password string `json:"password"`
}

func (i neo4jInfo) url() string { return fmt.Sprintf("bolt://127.0.0.1:%d", i.Port) }

func (i neo4jInfo) ping() error {
	return neo4jExec(i.url(), neo4jUser, i.Password, "RETURN 1", nil)
}

// neo4jExec runs a statement on a connection of its own.
func neo4jExec(url, user, password, statement string, params map[string]any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	driver, err := neo4j.NewDriverWithContext(url, neo4j.BasicAuth(user, password, ""))
	if err != nil {
		return err
	}
	_, err = neo4j.ExecuteQuery(ctx, driver, statement, params, neo4j.EagerResultTransformer)
	return errors.Join(err, driver.Close(ctx))
}

func sharedNeo4j(t testing.TB) neo4jInfo {
	t.Helper()
	home := findNeo4j(t)
	a := account{uid: os.Geteuid(), gid: os.Getegid()}
	s, err := openShared(t, "neo4j", a)
	if err != nil {
		t.Fatalf("share a Neo4j server: %v", err)
	}
	var info neo4jInfo
	err = s.run(&info, func() error { return info.ping() }, func() error {
		var err error
		if info, err = initNeo4j(home, filepath.Join(s.dir, "data")); err != nil {
			return err
		}
		if err := s.keep(neo4jCommand(home, filepath.Join(s.dir, "data"))...); err != nil {
			return err
		}
		return await(info.ping)
	})
	if err != nil {
		t.Fatalf("start a Neo4j server: %v; %s", err, lastLines(filepath.Join(s.dir, "server.log")))
	}
	return info
}

// pom asks Maven for a Neo4j server without what reads Hadoop files or reports usage.
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>satchel.test</groupId><artifactId>neo4j</artifactId><version>1</version>
<dependencies><dependency><groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>` + neo4jVersion + `</version>
<exclusions><exclusion><groupId>org.apache.hadoop</groupId><artifactId>*</artifactId></exclusion>
<exclusion><groupId>blue.strategic.parquet</groupId><artifactId>*</artifactId></exclusion>
<exclusion><groupId>org.neo4j</groupId><artifactId>neo4j-udc</artifactId></exclusion></exclusions>
</dependency></dependencies></project>
`

// findNeo4j returns the folder of the server's jars, which it fetches. It skips the test where the server is
// not required: with it and all other tests a small machine has too little to answer in time.
func findNeo4j(t testing.TB) string {
	t.Helper()
	if !parts.Required(neo4jPart) {
		parts.Missing(t, neo4jPart, "it runs where "+parts.RequireVar+" has "+neo4jPart)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "satchel-testenv")
	home := filepath.Join(cache, "neo4j-"+neo4jVersion)
	if _, err := exec.LookPath("java"); err != nil {
		parts.Missing(t, neo4jPart, "no java on this machine (Debian: apt-get install openjdk-17-jre-headless maven)")
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	guard, err := os.OpenFile(home+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := guard.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := lock(guard, syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	_, missing := os.Stat(home)
	_, slow := os.Stat(neo4jArchive(home))
	if missing == nil && (slow == nil || !parts.Required(neo4jPart)) {
		return home
	}
	if !parts.Required(neo4jPart) {
		parts.Missing(t, neo4jPart, "it is not in "+home+"; "+parts.RequireVar+"=neo4j fetches it")
	}
	if missing != nil {
		if err := fetchNeo4j(home); err != nil {
			t.Fatal(err)
		}
	}
	if err := archiveNeo4j(home); err != nil {
		t.Log(err) // it starts without, only slower
	}
	return home
}

func fetchNeo4j(home string) error {
	dir := home + ".part"
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "pom.xml"), []byte(pom), 0o600)); err != nil {
		return err
	}
	cmd := exec.Command("mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=lib")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("fetch Neo4j by Maven: %w: %s", err, out[:min(len(out), 600)])
	}
	return os.Rename(dir, home)
}

// initNeo4j makes dir the home of a server, without data.
func initNeo4j(home, dir string) (neo4jInfo, error) {
	port, err := FreePort()
	if err != nil {
		return neo4jInfo{}, err
	}
	info := neo4jInfo{Port: port, Password: rand.Text()}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return info, err
	}
	listen := fmt.Sprintf("127.0.0.1:%d", port)
	conf := strings.Join([]string{
		"server.bolt.listen_address=" + listen, "server.bolt.advertised_address=" + listen,
		"server.http.enabled=false", "server.https.enabled=false", "dbms.usage_report.enabled=false",
		"server.memory.pagecache.size=64m", "db.tx_log.preallocate=false", "db.tx_log.rotation.retention_policy=keep_none",
		"internal.dbms.bolt.netty_server_shutdown_quiet_period=0", "dbms.security.auth_max_failed_attempts=0", "",
	}, "\n")
	if err := os.WriteFile(filepath.Join(dir, "neo4j.conf"), []byte(conf), 0o600); err != nil {
		return info, err
	}
	cmd := exec.Command("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(home, "lib", "*"),
		"org.neo4j.cli.AdminTool", "dbms", "set-initial-password", info.Password)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "NEO4J_HOME="+dir, "NEO4J_CONF="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return info, fmt.Errorf("set the password: %w: %s", err, out[:min(len(out), 600)])
	}
	return info, nil
}

func neo4jCommand(home, dir string) []string {
	command := []string{"java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}
	if _, err := os.Stat(neo4jArchive(home)); err == nil {
		command = append(command, "-XX:SharedArchiveFile="+neo4jArchive(home))
	}
	return append(command, "-cp", filepath.Join(home, "lib", "*"),
		"org.neo4j.server.CommunityEntryPoint", "--home-dir="+dir, "--config-dir="+dir, "--console-mode")
}

// Neo4jServer is a server of one test's own, which it may stop and kill. Only one
// goroutine at a time may change its state.
type Neo4jServer struct {
	URL, User, Password string

	t         testing.TB
	home, dir string
	info      neo4jInfo
	cmd       *exec.Cmd // nil while it is stopped
}

// StartNeo4j starts a Neo4j server of the test's own and ends it with the test.
func StartNeo4j(t testing.TB) *Neo4jServer {
	t.Helper()
	return StartNeo4jIn(t, "")
}

// StartNeo4jIn is StartNeo4j with its data in a folder under dir, "" for that of temporary
// files.
func StartNeo4jIn(t testing.TB, dir string) *Neo4jServer {
	t.Helper()
	s := &Neo4jServer{t: t, home: findNeo4j(t), User: neo4jUser}
	var err error
	if s.dir, err = os.MkdirTemp(dir, "satchel-neo4j-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.cmd != nil {
			s.end(syscall.SIGKILL)
		}
		if err := os.RemoveAll(s.dir); err != nil {
			t.Error(err)
		}
	})
	if s.info, err = initNeo4j(s.home, filepath.Join(s.dir, "data")); err != nil {
		t.Fatal(err)
	}
	s.URL, s.Password = s.info.url(), s.info.Password
	s.Start()
	return s
}

// Start starts the server again, on the same port, and waits until it answers.
func (s *Neo4jServer) Start() {
	s.t.Helper()
	command := neo4jCommand(s.home, filepath.Join(s.dir, "data"))
	s.cmd = account{uid: os.Geteuid(), gid: os.Getegid()}.command(command[0], command[1:]...)
	log, err := os.OpenFile(filepath.Join(s.dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := errors.Join(s.cmd.Start(), log.Close()); err != nil {
		s.t.Fatalf("start Neo4j: %v", err)
	}
	if err := await(s.info.ping); err != nil {
		s.t.Fatalf("start Neo4j: %v; %s", err, lastLines(filepath.Join(s.dir, "server.log")))
	}
}

// Stop stops the server as an administrator would.
func (s *Neo4jServer) Stop() { s.t.Helper(); s.end(syscall.SIGTERM) }

// Kill kills the server, as a crash would.
func (s *Neo4jServer) Kill() { s.t.Helper(); s.end(syscall.SIGKILL) }

// Pause stops the process without closing a connection, until Resume: it is there and
// does not answer.
func (s *Neo4jServer) Pause() { s.t.Helper(); s.signal(syscall.SIGSTOP) }

// Resume is the end of Pause.
func (s *Neo4jServer) Resume() { s.t.Helper(); s.signal(syscall.SIGCONT) }

func (s *Neo4jServer) signal(n syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(n); err != nil {
		s.t.Errorf("signal Neo4j: %v", err)
	}
}

// Backup copies the stopped server's data; restore puts it back.
func (s *Neo4jServer) Backup() (restore func()) {
	s.t.Helper()
	return backup(s.t, s.dir, func() bool { return s.cmd != nil })
}

func (s *Neo4jServer) end(n syscall.Signal) {
	s.t.Helper()
	s.signal(n)
	var exit *exec.ExitError
	if err := s.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		s.t.Errorf("stop Neo4j: %v", err)
	}
	s.cmd = nil
}

// Configure adds lines to the configuration of the stopped server, in place of those that it
// added before.
func (s *Neo4jServer) Configure(settings ...string) {
	s.t.Helper()
	const mark = "# of the test\n"
	path := filepath.Join(s.dir, "data", "neo4j.conf")
	raw, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	base, _, _ := strings.Cut(string(raw), mark)
	if err := os.WriteFile(path, []byte(base+mark+strings.Join(append(settings, ""), "\n")), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// EndTransactions has the server end every transaction that is under way, and returns how
// many: their clients are answered an error.
func (s *Neo4jServer) EndTransactions() int {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	driver, err := neo4j.NewDriverWithContext(s.info.url(), neo4j.BasicAuth(neo4jUser, s.info.Password, ""))
	if err != nil {
		s.t.Fatal(err)
	}
	ended, err := neo4j.ExecuteQuery(ctx, driver, "SHOW TRANSACTIONS YIELD transactionId AS id, currentQuery WHERE NOT currentQuery STARTS WITH 'SHOW' "+
		"TERMINATE TRANSACTIONS id YIELD message WHERE message = 'Transaction terminated.' RETURN message", nil, neo4j.EagerResultTransformer)
	if err := errors.Join(err, driver.Close(ctx)); err != nil {
		s.t.Errorf("end transactions: %v", err)
		return 0
	}
	return len(ended.Records)
}
