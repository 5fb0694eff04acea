package rot

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	"satchel/cmd/internal/config"
)

// readReport reads a report to compare with, which MUST be of the same questions.
func readReport(path string, s *settings) (*Report, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, config.Usagef("read --check: %v", err)
	}
	var r Report
	if json.Unmarshal(raw, &r) != nil {
		return nil, config.Usagef("read --check: %s is no rot.json", path)
	}
	if r.Format != format {
		return nil, config.Usagef("read --check: %s has format %q, this is %q", path, r.Format, format)
	}
	if want := s.measured(); !reflect.DeepEqual(r.Measured, want) {
		return nil, config.Usagef("read --check: %s was measured with set %q --sizes %s --budgets %s --distort %s --seeds %d --max %d, which have to be the same now",
			path, r.Set, listed(r.Sizes), listed(r.Budgets), strings.Join(r.Distortions, ","), r.Seeds, r.Max)
	}
	return &r, nil
}

func listed(numbers []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ","), "[]")
}

// broken says which promises the packs of Satchel break, at which point.
func (r *Report) broken() []string {
	var list []string
	for i := range r.Points {
		p := &r.Points[i]
		if p.Line != lineSatchel {
			continue
		}
		if p.Superseded.mean > 0 {
			list = append(list, fmt.Sprintf("%s: replaced facts are %.4f of the tokens", p.name(), p.Superseded.mean))
		}
		if p.Injections.mean > 0 {
			list = append(list, fmt.Sprintf("%s: injections without a fence are %.4f of the tokens", p.name(), p.Injections.mean))
		}
		if p.Unnamed > 0 {
			list = append(list, fmt.Sprintf("%s: %d items were removed, and no drop report names them", p.name(), p.Unnamed))
		}
	}
	return list
}

// name says which point it is.
func (p *Point) name() string {
	return fmt.Sprintf("%d items, %s, %d tokens", p.Size, p.Distortion, p.Budget)
}

// below says at which points of Satchel evidence or answers are below the interval that they had before; before may be nil.
func (r *Report) below(before *Report) []string {
	if before == nil {
		return nil
	}
	type key struct {
		size, budget int
		distortion   string
	}
	now := map[key]*Point{}
	for i := range r.Points {
		if p := &r.Points[i]; p.Line == lineSatchel {
			now[key{p.Size, p.Budget, p.Distortion}] = p
		}
	}
	var list []string
	for i := range before.Points {
		was := &before.Points[i]
		if was.Line != lineSatchel {
			continue
		}
		is := now[key{was.Size, was.Budget, was.Distortion}]
		if is == nil {
			list = append(list, was.name()+": not measured")
			continue
		}
		for _, f := range []struct {
			name    string
			is, was stat
		}{{"evidence", is.Evidence, was.Evidence}, {"answers", is.Answered, was.Answered}} {
			if f.is.mean < f.was.low-rounding {
				list = append(list, fmt.Sprintf("%s: %s %.3f, before %.3f, at least %.3f", was.name(), f.name, f.is.mean, f.was.mean, f.was.low))
			}
		}
	}
	return list
}

// rounding is how much less a figure of six digits may be than what it was written from.
const rounding = 1e-5
