//go:build unix

package neo4jtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"

	"satchel/test/must"
	"satchel/test/parts"
	"satchel/test/testenv"
	"satchel/test/testenv/internal/process"
)

const (
	// part is what SATCHEL_TEST_REQUIRE calls Neo4j.
	part    = "neo4j"
	version = "5.26.30"
	user    = "neo4j"
)

// Place is a namespace of a test's own in a Neo4j server.
type Place struct {
	URL, User, Password string
	Namespace           string
}

// Open returns a fresh namespace in the Neo4j Community server that the test packages
// share, or in the one that NEO4J_URL, NEO4J_USER and NEO4J_PASSWORD name. What was
// written there is removed when the test ends. The server comes from Maven Central once
// and is kept in the user's cache; a test that does not require it uses it only from there.
func Open(t testing.TB) Place {
	t.Helper()
	p := Place{URL: os.Getenv("NEO4J_URL"), User: os.Getenv("NEO4J_USER"), Password: os.Getenv("NEO4J_PASSWORD"), Namespace: "test-" + strings.ToLower(rand.Text()) + "/"}
	p.User = cmp.Or(p.User, user)
	if p.URL == "" {
		info := openSharedServer(t)
		p.URL, p.User, p.Password = info.url(), user, info.Password
	}
	t.Cleanup(func() {
		for _, label := range []string{"SatchelItem", "SatchelEntity"} {
			if err := execute(p.URL, p.User, p.Password, "MATCH (n:"+label+") WHERE n.tenant STARTS WITH $ns DETACH DELETE n", map[string]any{"ns": p.Namespace}); err != nil {
				t.Errorf("empty a namespace: %v", err)
			}
		}
		if err := execute(p.URL, p.User, p.Password, "MATCH (n:SatchelTenant) WHERE n.name STARTS WITH $ns DELETE n", map[string]any{"ns": p.Namespace}); err != nil {
			t.Errorf("empty a namespace: %v", err)
		}
	})
	return p
}

// info is what a process needs to connect to a server.
type info struct {
	Port     int    `json:"port"`
	Password string `json:"password"`
}

func (i info) url() string { return fmt.Sprintf("bolt://127.0.0.1:%d", i.Port) }

func (i info) Ping() error {
	return execute(i.url(), user, i.Password, "RETURN 1", nil)
}

// execute runs a statement on a connection of its own.
func execute(url, user, password, statement string, params map[string]any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	driver, err := neo4j.NewDriverWithContext(url, neo4j.BasicAuth(user, password, ""))
	if err != nil {
		return err
	}
	_, err = neo4j.ExecuteQuery(ctx, driver, statement, params, neo4j.EagerResultTransformer)
	return errors.Join(err, driver.Close(ctx))
}

func openSharedServer(t testing.TB) (i info) {
	t.Helper()
	home := findJars(t)
	process.Share(t, "neo4j", process.Own(), &i, func(dir string) (command []string, err error) {
		data := filepath.Join(dir, "data")
		i, err = initHome(home, data)
		return serverCommand(home, data), err
	})
	return i
}

// pom asks Maven for a Neo4j server without what reads Hadoop files or reports usage.
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>satchel.test</groupId><artifactId>neo4j</artifactId><version>1</version>
<dependencies><dependency><groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>` + version + `</version>
<exclusions><exclusion><groupId>org.apache.hadoop</groupId><artifactId>*</artifactId></exclusion>
<exclusion><groupId>blue.strategic.parquet</groupId><artifactId>*</artifactId></exclusion>
<exclusion><groupId>org.neo4j</groupId><artifactId>neo4j-udc</artifactId></exclusion></exclusions>
</dependency></dependencies></project>
`

// findJars returns the folder of the server's jars, which it fetches. It skips the test where the server is
// not required: with it and all other tests a small machine has too little to answer in time.
func findJars(t testing.TB) string {
	t.Helper()
	if !parts.Required(part) {
		parts.Missing(t, part, "it runs where "+parts.RequireVar+" has "+part)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "satchel-testenv")
	home := filepath.Join(cache, "neo4j-"+version)
	if _, err := exec.LookPath("java"); err != nil {
		parts.Missing(t, part, "no java on this machine (Debian: apt-get install openjdk-17-jre-headless maven)")
	}
	must.Do(t, os.MkdirAll(cache, 0o755))
	err = process.Locked(home+".lock", func() error {
		_, missing := os.Stat(home)
		_, slow := os.Stat(archivePath(home))
		if missing == nil && slow == nil {
			return nil
		}
		if missing != nil {
			if err := fetchJars(home); err != nil {
				return err
			}
		}
		if err := archiveClasses(home); err != nil {
			t.Log(err) // it starts without, only slower
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return home
}

func fetchJars(home string) error {
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

// initHome makes dir the home of a server, without data.
func initHome(home, dir string) (info, error) {
	port, err := testenv.FreePort()
	if err != nil {
		return info{}, err
	}
	i := info{Port: port, Password: rand.Text()}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return i, err
	}
	listen := fmt.Sprintf("127.0.0.1:%d", port)
	conf := strings.Join([]string{
		"server.bolt.listen_address=" + listen, "server.bolt.advertised_address=" + listen,
		"server.http.enabled=false", "server.https.enabled=false", "dbms.usage_report.enabled=false",
		"server.memory.pagecache.size=64m", "db.tx_log.preallocate=false", "db.tx_log.rotation.retention_policy=keep_none",
		"internal.dbms.bolt.netty_server_shutdown_quiet_period=0", "dbms.security.auth_max_failed_attempts=0", "",
	}, "\n")
	if err := os.WriteFile(filepath.Join(dir, "neo4j.conf"), []byte(conf), 0o600); err != nil {
		return i, err
	}
	cmd := exec.Command("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(home, "lib", "*"),
		"org.neo4j.cli.AdminTool", "dbms", "set-initial-password", i.Password)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "NEO4J_HOME="+dir, "NEO4J_CONF="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return i, fmt.Errorf("set the password: %w: %s", err, out[:min(len(out), 600)])
	}
	return i, nil
}

func serverCommand(home, dir string) []string {
	command := []string{"java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}
	if _, err := os.Stat(archivePath(home)); err == nil {
		command = append(command, "-XX:SharedArchiveFile="+archivePath(home))
	}
	return append(command, "-cp", filepath.Join(home, "lib", "*"),
		"org.neo4j.server.CommunityEntryPoint", "--home-dir="+dir, "--config-dir="+dir, "--console-mode")
}

// Server is a server of one test's own, which it may stop and kill. Only one
// goroutine at a time may change its state.
type Server struct {
	*process.Server
	URL, User, Password string

	t    testing.TB
	info info
}

// Start starts a Neo4j server of the test's own and ends it with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	return StartIn(t, "")
}

// StartIn is Start with its data in a folder under dir, "" for that of temporary files.
func StartIn(t testing.TB, dir string) *Server {
	t.Helper()
	home := findJars(t)
	s := &Server{Server: process.NewServer(t, "neo4j", dir, process.Own()), t: t, User: user}
	data := filepath.Join(s.Dir, "data")
	var err error
	if s.info, err = initHome(home, data); err != nil {
		t.Fatal(err)
	}
	s.URL, s.Password = s.info.url(), s.info.Password
	s.Ping = s.info.Ping
	s.Command = func() *exec.Cmd {
		command := serverCommand(home, data)
		return s.Account.Command(command[0], command[1:]...)
	}
	s.Start()
	return s
}

// Configure adds lines to the configuration of the stopped server, in place of those that it
// added before.
func (s *Server) Configure(settings ...string) {
	s.t.Helper()
	const mark = "# of the test\n"
	path := filepath.Join(s.Dir, "data", "neo4j.conf")
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
func (s *Server) EndTransactions() int {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	driver, err := neo4j.NewDriverWithContext(s.info.url(), neo4j.BasicAuth(user, s.info.Password, ""))
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
