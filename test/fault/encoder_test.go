package fault

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/model/encoder"
	"satchel/pipeline/passage"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/memory"
	"satchel/pipeline/store/vector"
	"satchel/worker/projection"
)

// TestKillEncoder kills the process at random while the sentence encoder follows the log, under load. At the end each
// item has its vector, and there is none of an erased item.
func TestKillEncoder(t *testing.T) {
	longKill(t)
	t.Parallel()
	seed := crashSeed(t)
	random := rand.New(rand.NewPCG(seed, 97))
	n, r := newNode(t), newRecord()
	stop := load(n, r, seed, everyKind()...)
	if !n.start(t) {
		t.Fatal("satchel up did not start")
	}
	<-time.After(crashTime(t) / 3)
	n.kill()
	n.model = encoder.Name
	for end := time.Now().Add(crashTime(t) / 2); r.goesOn(end, 20, 0); {
		if !n.start(t) {
			stop()
			t.Fatal("satchel up did not start again")
		}
		<-time.After(50*time.Millisecond + time.Duration(random.IntN(450))*time.Millisecond)
		n.kill()
	}
	stop()
	if !n.start(t) {
		t.Fatal("satchel up did not start again")
	}
	if out := n.must(t, "reembed", "--http-addr", n.http); !strings.HasPrefix(out, "every item has its vector of "+encoder.Name+"@") {
		t.Errorf("reembed says %s", out)
	}
	n.kill()
	r.finish(t, n)
	t.Logf("%d events acknowledged, %d erasures", len(r.acked), len(r.forgot))
	r.checkEnough(t, 20, 0)
}

// checkEncoded: the encoder's vectors are a fold of the log.
func checkEncoded(t *testing.T, n *node, log *eventlog.Log, s scope.Scope) {
	t.Helper()
	made, err := encoder.Open(encoder.Config{Threads: 2})
	must(t, err)
	model := made.Model()
	sum := sha256.Sum256([]byte(model.String()))
	digest := func(dir string) [sha256.Size]byte {
		x, err := memory.OpenVector(memory.VectorConfig{Dir: dir, Model: passage.Contents(model.String()), Dimensions: model.Dimensions})
		must(t, err)
		defer func() { must(t, x.Close()) }()
		index := vector.New(x)
		must(t, projection.NewReindexer(projection.ReindexerConfig{Log: log, Index: index, Embedder: made, Passages: true}).Fill(t.Context(), s, func(int64, int64) {}))
		d, err := index.Digest(t.Context(), s)
		must(t, err)
		return d
	}
	live, fresh := digest(filepath.Join(n.dir, "index", "vector-"+hex.EncodeToString(sum[:6]))), digest(t.TempDir())
	if live != fresh {
		t.Errorf("the encoder's vectors of %q are not those that its log gives", s.Tenant())
	}
}
