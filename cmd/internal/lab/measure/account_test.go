package measure_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/cmd/internal/lab/measure"
)

// sloppy loses one item at 500 tokens, names too little at 1000, and is right at 2000.
type sloppy struct{}

func (sloppy) Rank(ctx context.Context, q *measure.Query) ([]measure.Ranked, error) {
	return sloppy{}.Found(ctx, q, 2000)
}

func (sloppy) Found(context.Context, *measure.Query, int) ([]measure.Ranked, error) {
	return []measure.Ranked{{ID: "a"}, {ID: "b"}}, nil
}

func (sloppy) Pack(_ context.Context, _ *measure.Query, budget int) (measure.Packed, error) {
	p := measure.Packed{IDs: []string{"a"}, Dropped: []string{"b"}, Tokens: 600, Account: measure.Account{Removed: 10, Named: 10, Cited: 2, Resolved: 2}}
	switch budget {
	case 500:
		p.Dropped = nil
	case 1000:
		p.Account.Named--
	}
	return p, nil
}

func TestLedgerFindsWhatIsNotAccountedFor(t *testing.T) {
	t.Parallel()
	set := measure.Set{Name: "s", Queries: []measure.Query{{ID: "q1", Category: "adversarial"}, {ID: "q2"}}}
	got, err := measure.Ledger(t.Context(), set, sloppy{}, []int{500, 1000, 2000}, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	want := []measure.Accounts{
		{Set: "s", Budget: 500, Packs: 2, Account: measure.Account{Removed: 20, Named: 20, Cited: 4, Resolved: 4}, Over: 2, Lost: 2, Failed: "q1"},
		{Set: "s", Budget: 1000, Packs: 2, Account: measure.Account{Removed: 20, Named: 18, Cited: 4, Resolved: 4}, Failed: "q1"},
		{Set: "s", Budget: 2000, Packs: 2, Account: measure.Account{Removed: 20, Named: 20, Cited: 4, Resolved: 4}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
