package transporttest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"satchel/worker/transport"
)

// letters: a rejected event is there once, however often and by whom it is rejected.
func letters(s *suite) {
	tenant, _, all := s.filled(3)
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	rejected := []transport.Rejected{
		{Message: all[0], Reason: "id_reuse", Cause: "another body: 100 % \"new\"\nline é", At: at},
		{Message: all[2], Reason: "malformed", Pointer: "/scope/tenant", Cause: "no tenant", At: at},
	}
	d := s.Letters(s.T)
	for range 2 {
		s.must(d.Reject(s.ctx(), rejected))
	}
	s.must(s.Letters(s.T).Reject(s.ctx(), rejected[1:]))
	if diff := cmp.Diff([]string{"e-0", "e-2"}, s.Rejected(s.T, tenant)); diff != "" {
		s.Errorf("dead letters (-want +got):\n%s", diff)
	}
}

// scrub: every copy of an event goes, its neighbours, its name in another tenant and the
// ledger's references stay.
func scrub(s *suite) {
	acme, i, all := s.filled(9)
	other := s.tenants[1]
	s.publish(other, 4, 5)
	s.must(s.Letters(s.T).Reject(s.ctx(), []transport.Rejected{{Message: all[4], Reason: "malformed", At: time.Unix(0, 0)}}))
	l := s.Ledger(s.T)
	s.must(l.Publish(s.ctx(), acme, entries(1, 2)))
	removed, err := s.Scrubber.Scrub(s.ctx(), acme, []transport.Copy{{Source: "urn:agent:planner", ID: "e-4"}})
	s.must(err)
	sum := 0
	for _, stream := range removed {
		sum += stream.Removed
	}
	if sum != 2 {
		s.Errorf("it says that it removed %v, want one of the inbox and one dead letter", removed)
	}
	if state, err := i.State(s.ctx(), all[4].Seq); err != nil || state.Found {
		s.Errorf("the event is still there: %t, %v", state.Found, err)
	}
	if left := s.Rejected(s.T, acme); len(left) > 0 {
		s.Errorf("dead letters %v are left", left)
	}
	s.gone(i, all[4].Seq, "e-5")
	s.must(i.Seek(s.ctx(), all[0].Seq))
	s.fetch(i, acme, 0, 4)
	s.fetch(i, acme, 5, 4)
	s.fetch(s.inbox(other), other, 4, 1)
	s.ledgerEnds(l, acme, 2)
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// artifacts: a content is kept once by its hash, for its tenant alone, until it is deleted.
func artifacts(s *suite) {
	acme, other := s.tenants[0], s.tenants[1]
	content := bytes.Repeat([]byte("0123456789abcdef"), 20<<10)
	for range 2 {
		name, size, err := s.Artifacts.Put(s.ctx(), acme, "ada", bytes.NewReader(content))
		if err != nil || name != sum(content) || size != len(content) {
			s.Fatalf("put: %s, %d, %v", name, size, err)
		}
	}
	r, err := s.Artifacts.Open(s.ctx(), acme, sum(content))
	s.must(err)
	got, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, content) {
		s.Errorf("%d bytes of %d come back, %v", len(got), len(content), err)
	}
	for tenant, name := range map[string]string{other: sum(content), acme: sum([]byte("another")), "a.b": sum(content)} {
		if _, err := s.Artifacts.Open(s.ctx(), tenant, name); !errors.Is(err, transport.ErrNoArtifact) {
			s.Errorf("open of another's in %q: %v", tenant, err)
		}
	}
	for _, want := range []bool{true, false} {
		if removed, err := s.Artifacts.Delete(s.ctx(), acme, sum(content)); err != nil || removed != want {
			s.Errorf("delete: %t, %v; want %t", removed, err, want)
		}
	}
	if _, err := s.Artifacts.Open(s.ctx(), acme, sum(content)); !errors.Is(err, transport.ErrNoArtifact) {
		s.Errorf("deleted, and opened: %v", err)
	}
}

// artifactsBroken: what breaks off, is empty or has no tenant is no artifact.
func artifactsBroken(s *suite) {
	broken := errors.New("broken")
	half := make([]byte, 200<<10)
	if _, _, err := s.Artifacts.Put(s.ctx(), s.tenants[0], "ada", io.MultiReader(bytes.NewReader(half), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		s.Errorf("broken off: %v", err)
	}
	if _, err := s.Artifacts.Open(s.ctx(), s.tenants[0], sum(half)); !errors.Is(err, transport.ErrNoArtifact) {
		s.Errorf("half a content is there: %v", err)
	}
	if _, _, err := s.Artifacts.Put(s.ctx(), s.tenants[0], "ada", bytes.NewReader(nil)); !errors.Is(err, transport.ErrArtifactEmpty) {
		s.Errorf("empty: %v", err)
	}
	if _, _, err := s.Artifacts.Put(s.ctx(), "a.b", "ada", bytes.NewReader(half)); err == nil {
		s.Error("a tenant that is no token is taken")
	}
}

// revocations: they are a tenant's, to the nanosecond, and the last one counts.
func revocations(s *suite) {
	at := time.Date(2026, 3, 3, 10, 0, 0, 7, time.UTC)
	for _, at := range []time.Time{at, at.Add(time.Hour)} {
		s.must(s.Artifacts.Revoke(s.ctx(), s.tenants[0], "item x", at))
		if got, err := s.Artifacts.RevokedAt(s.ctx(), s.tenants[0], "item x"); err != nil || !got.Equal(at) {
			s.Errorf("revoked until %v, %v; want %v", got, err, at)
		}
	}
	for _, where := range [][2]string{{s.tenants[1], "item x"}, {s.tenants[0], "item y"}} {
		if got, err := s.Artifacts.RevokedAt(s.ctx(), where[0], where[1]); err != nil || !got.IsZero() {
			s.Errorf("%v: %v, %v", where, got, err)
		}
	}
}

// membershipShares: every partition has one owner, whoever joins and leaves.
func membershipShares(s *suite) {
	one, leaveOne := s.Join(s.T, "one")
	defer leaveOne()
	s.awaitShares(one)
	two, leaveTwo := s.Join(s.T, "two")
	three, leaveThree := s.Join(s.T, "three")
	defer leaveThree()
	s.awaitShares(one, two, three)
	for _, tenant := range s.tenants {
		if p := one.Partition(tenant); p != s.Partition(tenant) || p != two.Partition(tenant) {
			s.Errorf("%q is in partition %d", tenant, p)
		}
	}
	leaveTwo()
	s.awaitShares(one, three)
	if owned, _ := two.Owned(); slices.Contains(owned, true) {
		s.Error("who left still owns partitions")
	}
}

// awaitShares waits until each partition has one owner among members, and each member a
// share that is fair to one partition or two.
func (s *suite) awaitShares(members ...transport.Membership) {
	s.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ctx := s.ctx(); ; {
		owners, counts := make([]int, s.Partitions), make([]int, len(members))
		for c, member := range members {
			owned, _ := member.Owned()
			for p, o := range owned {
				if o {
					owners[p]++
					counts[c]++
				}
			}
		}
		single := !slices.ContainsFunc(owners, func(n int) bool { return n != 1 })
		if single && slices.Max(counts)-slices.Min(counts) <= 2 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.Fatalf("shares %v, owners of each partition %v", counts, owners)
		}
	}
}
