package rot

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// twoRows are a question that is answered and one that is not, at one point of Satchel.
func twoRows() (settings, []Row) {
	s := settings{sizes: []int{100}, budgets: []int{500}, distortions: []distortion{{name: "none", kind: distortNone}}, seeds: 1, max: 3}
	row := Row{Line: lineSatchel, Seed: 1, Distortion: "none", Size: 100, Budget: 500, Words: 3, Tokens: 100}
	hit, miss, absent := row, row, row
	hit.Question, hit.Evidence, hit.Answered, hit.Density, hit.placed, hit.Place = "q1", 1, 1, .25, true, .5
	miss.Question = "q2"
	absent.Question, absent.Absent, absent.Abstained = "q3", true, true
	var rows []Row
	for _, line := range lineNames() {
		for _, r := range []Row{hit, miss, absent} {
			if r.Line = line; line == lineAll {
				r.Budget = 0
			}
			rows = append(rows, r)
		}
	}
	return s, rows
}

func TestReportSumsUp(t *testing.T) {
	t.Parallel()
	s, rows := twoRows()
	r := sumUp(&s, rows)
	p := r.Points[0]
	if p.Line != lineSatchel || p.Questions != 2 || p.Absent != 1 || p.Evidence.mean != .5 || p.Density.mean != .125 || p.Place.mean != .5 || p.Abstained.mean != 1 || p.Silent.mean != 0 {
		t.Errorf("the point is %+v", p)
	}
	if p.Evidence.low != 0 || p.Evidence.high != 1 {
		t.Errorf("the interval of one of two is %+v", p.Evidence)
	}
	if len(r.Points) != len(lineNames()) || len(r.Overall) != len(lineNames()) {
		t.Errorf("%d points, %d overall", len(r.Points), len(r.Overall))
	}
	raw, err := r.encode()
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	if diff := cmp.Diff(r, back, cmp.AllowUnexported(stat{})); diff != "" {
		t.Error(diff)
	}
}

func TestIntervalsHoldTheMean(t *testing.T) {
	t.Parallel()
	values := make([]float64, 100)
	for i := range values {
		values[i] = indicator(i%4 == 0)
	}
	s := interval(values)
	// A quarter of 100 has a standard error of .0433, so that 95 % are within .085 or so.
	if s.mean != .25 || s.low < .14 || s.low > .19 || s.high < .31 || s.high > .36 || s != interval(values) {
		t.Errorf("interval of a quarter of 100: %+v", s)
	}
	if one := interval([]float64{1, 1}); one != (stat{1, 1, 1}) {
		t.Errorf("interval of equal values: %+v", one)
	}
}

func TestCheckFindsWhatIsBelow(t *testing.T) {
	t.Parallel()
	s, rows := twoRows()
	path := filepath.Join(t.TempDir(), "rot.json")
	good := rows
	for i := range good {
		good[i].Evidence, good[i].Answered = indicator(!good[i].Absent), indicator(!good[i].Absent)
	}
	before := sumUp(&s, good)
	raw, err := before.encode()
	if err == nil {
		err = os.WriteFile(path, raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	kept, err := readReport(path, &s)
	if err != nil {
		t.Fatal(err)
	}
	if found := before.below(kept); len(found) > 0 {
		t.Errorf("the same report is below itself: %v", found)
	}
	_, rows = twoRows()
	worse := sumUp(&s, rows)
	found := worse.below(kept)
	if len(found) != 2 || !strings.Contains(found[0], "100 items, none, 500 tokens: evidence 0.500, before 1.000") {
		t.Errorf("found %q", found)
	}
	if found := before.below(&worse); len(found) > 0 {
		t.Errorf("better is worse: %v", found)
	}
	if found := worse.broken(); len(found) > 0 {
		t.Errorf("nothing is broken, found %v", found)
	}
	rows[0].Shares.Superseded, rows[0].Unnamed, rows[1].Shares.Injections = .1, 2, .1
	bad := sumUp(&s, rows)
	if found := bad.broken(); len(found) != 3 {
		t.Errorf("replaced facts, injections and items that are not named: found %q", found)
	}
	other := s
	other.max = 9
	if _, err := readReport(path, &other); err == nil || !strings.Contains(err.Error(), "--max 3") {
		t.Errorf("a report of other questions: %v", err)
	}
}
