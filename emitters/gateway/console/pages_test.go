package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"

	page "golang.org/x/net/html"

	"satchel/emitters"
	"satchel/schemas"
	"satchel/test/parts"
)

func text(s string) schemas.Content { return schemas.TextContent(s) }

// fill stores what most tests ask about.
func (s *site) fill() {
	s.remember(schemas.MemoryItem{ID: "kiln", Content: text("The kiln is fired on Tuesdays.")})
	s.remember(schemas.MemoryItem{ID: "kiln-code", Content: text("The code of the kiln is Quetzal."),
		SecurityLabel: []string{"level:restricted"}})
	s.remember(schemas.MemoryItem{ID: "glaze", Content: text("Jonas mixes the glaze for the kiln.")})
}

// Every page is there for each principal, and every link of every page leads somewhere.
func TestPagesAndLinks(t *testing.T) {
	t.Parallel()
	s := setup(t, false)
	s.fill()
	eraser, err := emitters.New(s.nc, emitters.Config{Tenant: s.tenant, Agent: "planner", Roles: []string{"eraser"}})
	s.must(err)
	_, err = eraser.Forget(t.Context(), []string{"glaze"}, "asked for")
	s.must(err)
	for name, c := range map[string]struct {
		b     *browser
		audit int
	}{"planner": {s.planner(), 403}, "auditor": {s.auditor(), 200}} {
		pack, shown := c.b.ask("when is the kiln fired?")
		whole := strings.Contains(shown, "The kiln is fired on Tuesdays.") && strings.Count(shown, "<meter") >= 8
		if !whole || strings.Contains(shown, "Quetzal") {
			t.Errorf("%s: the pack is %s", name, shown)
		}
		again, _ := c.b.ask("who mixes the glaze?")
		for _, at := range []string{"/console/erasures", "/console/ledger?kind=pack", "/console/ledger/entries?after=1"} {
			if res := c.b.get(at); res.StatusCode != c.audit {
				t.Errorf("%s: %s: %s", name, at, res.Status)
			}
		}
		both := "/console/diff?a=" + path.Base(pack) + "&b=" + path.Base(again)
		queue := []string{"/console/", both, "/console/write?id=none"}
		seen := map[string]bool{}
		for len(queue) > 0 {
			at := queue[0]
			if queue = queue[1:]; seen[at] {
				continue
			}
			seen[at] = true
			body := c.b.page(at)
			for _, found := range regexp.MustCompile(`(?:href|src)="([^"#]+)`).FindAllStringSubmatch(body, -1) {
				next := html.UnescapeString(found[1])
				if !strings.HasPrefix(next, "/console/") {
					t.Errorf("%s: %s links to %s", name, at, next)
					continue
				}
				queue = append(queue, next)
			}
			if strings.Contains(at, "static") {
				continue
			}
			for _, part := range []string{`<html lang="en">`, "<main", "<nav", "<h1>", "<footer"} {
				if !strings.Contains(body, part) {
					t.Errorf("%s: %s has no %s", name, at, part)
				}
			}
		}
		proof := "/console/verify?pack=" + path.Base(pack)
		for _, at := range []string{"/console/packs", pack, pack + "/debug", proof, "/console/static/console.js"} {
			if !seen[at] {
				t.Errorf("%s: no link leads to %s", name, at)
			}
		}
	}
}

// An item that is left out is shown when its reader asks for it, and the log has that.
func TestLeftOutItemIsReadOnDemand(t *testing.T) {
	t.Parallel()
	s := setup(t, false)
	s.fill()
	s.remember(schemas.MemoryItem{ID: "harbour", Content: text("<b>Ferries</b> leave the harbour at nine." + strings.Repeat(" The tide is on the board.", 40))})
	for i := range 8 { // a pack does not end before it has some
		s.remember(schemas.MemoryItem{ID: fmt.Sprint("firing", i), Content: text(fmt.Sprintf("When load %d is dry, the kiln is fired by the guard of hall %d, and its door stays shut until the cones have bent.", i, i))})
	}
	planner := s.planner()
	pack, shown := planner.ask("when is the kiln fired?")
	if !strings.Contains(shown, pack+"/items/harbour") || strings.Contains(shown, "Ferries") {
		t.Fatalf("the pack does not leave the item out: %s", shown)
	}
	if why := planner.page(pack + "/items/harbour"); !strings.Contains(why, "Show the item") || strings.Contains(why, "Ferries") {
		t.Errorf("why it is left out: %s", why)
	}
	read := planner.send("POST", pack+"/items/harbour", url.Values{})
	if read.StatusCode != 200 || !strings.Contains(read.body, "&lt;b&gt;Ferries&lt;/b&gt; leave the harbour") || strings.Contains(read.body, "Show the item") {
		t.Errorf("read: %s %s", read.Status, read.body)
	}
	if packs := planner.page("/console/packs"); strings.Count(packs, "/console/packs/") != 2 {
		t.Errorf("the log does not say that it was read: %s", packs)
	}
}

// What policy denies is told to an auditor by count alone, and to a planner not at all.
func TestLeftOutTablesDiffer(t *testing.T) {
	t.Parallel()
	s := setup(t, false)
	s.fill()
	planner, auditor := s.planner(), s.auditor()
	mine, shown := planner.ask("what is the code of the kiln?")
	for _, hidden := range []string{"denied by policy", "kiln-code", "Quetzal"} {
		if strings.Contains(shown, hidden) {
			t.Errorf("the planner's pack has %q: %s", hidden, shown)
		}
	}
	theirs, shown := auditor.ask("what is the code of the kiln?")
	if !strings.Contains(shown, "denied by policy: 1, clearance") || strings.Contains(shown, "Quetzal") {
		t.Errorf("the auditor's pack: %s", shown)
	}
	if why := auditor.page(theirs + "/items/kiln-code"); !strings.Contains(why, "denied: clearance") {
		t.Errorf("explain, as an auditor: %s", why)
	}
	read := func(b *browser, at string) answer { return b.send("POST", at, url.Values{}) }
	if res, none := read(planner, mine+"/items/kiln-code"), read(planner, mine+"/items/no-such"); res.StatusCode != 404 || res.body != none.body {
		t.Errorf("reading tells a planner what is hidden: %s %s\n%s", res.Status, res.body, none.body)
	}
	hidden, none := planner.page(mine+"/items/kiln-code"), planner.page(mine+"/items/no-such")
	if strings.ReplaceAll(hidden, "kiln-code", "no-such") != none {
		t.Errorf("explain tells a planner what is hidden:\n%s\n%s", hidden, none)
	}
	if res := read(planner, theirs+"/items/kiln"); res.StatusCode != 404 || res.body != read(planner, "/console/packs/no-such/items/kiln").body {
		t.Errorf("another principal's item: %s %s", res.Status, res.body)
	}
	if res := planner.get(theirs); res.StatusCode != 404 || res.body != planner.get("/console/packs/no-such").body {
		t.Errorf("another principal's pack: %s %s", res.Status, res.body)
	}
	for name, c := range map[string]struct {
		b      *browser
		theirs bool
	}{"planner": {planner, false}, "auditor": {auditor, true}} {
		list := c.b.page("/console/packs")
		if !strings.Contains(list, path.Base(mine)) || strings.Contains(list, path.Base(theirs)) != c.theirs {
			t.Errorf("the %s's list: %s", name, list)
		}
	}
}

// A pack of another tenant is as one that is not there, at every address.
func TestTenantsAreApart(t *testing.T) {
	t.Parallel()
	s := setup(t, false)
	s.fill()
	pack, _ := s.auditor().ask("when is the kiln fired?")
	s.tenant += "other"
	s.list = nil
	s.remember(schemas.MemoryItem{Content: text("Here is a loom.")})
	stranger := s.auditor()
	for _, at := range []string{"", "/debug", "/items/kiln", "/proof"} {
		theirs, none := stranger.get(pack+at), stranger.get("/console/packs/no-such"+at)
		if theirs.StatusCode != 404 || theirs.body != none.body {
			t.Errorf("%s: %s %s", at, theirs.Status, theirs.body)
		}
	}
	for _, at := range []string{"/console/", "/console/packs", "/console/ledger", "/console/erasures"} {
		if body := stranger.page(at); strings.Contains(body, path.Base(pack)) || strings.Contains(body, "kiln") {
			t.Errorf("%s shows another tenant: %s", at, body)
		}
	}
}

// Content with markup, scripts and marks that turn text round is shown, and does nothing.
func TestHostileContentIsInert(t *testing.T) {
	t.Parallel()
	s := setup(t, false)
	hostile := "The kiln <script>alert(1)</script><img src=x onerror=alert(2)> \"><a href=\"javascript:alert(3)\">" +
		"[1]</a> \u202egnp.exe\u2066 \U000e0041 {{.}} </pre></textarea>"
	s.remember(schemas.MemoryItem{ID: "hostile", Content: text(hostile), Speaker: "<b>Mallory\u202e</b>",
		Session: "<i>kiln</i>", Category: "javascript:alert(4)"})
	b := s.auditor()
	pack, _ := b.ask("what of the <script>kiln</script> \u202e?")
	packs := b.page("/console/packs?session=" + url.QueryEscape("\"><script>alert(5)</script>"))
	for at, body := range map[string]string{"pack": b.page(pack), "explain": b.page(pack + "/items/hostile"),
		"debug": b.page(pack + "/debug"), "packs": packs,
		"ledger": b.page("/console/ledger"), "diff": b.page("/console/diff?a=" + path.Base(pack) + "&b=" + path.Base(pack)),
		"source": b.page("/console/write?id=x&source=" + url.QueryEscape("\"><script>alert(6)</script>\u202e")),
		"write":  b.get("/console/write?id=" + url.QueryEscape("x\"><script>\u202e")).body,
		"enter":  b.page("/console/enter?link=" + url.QueryEscape("\"><script>alert(7)</script>")),
		"verify": b.page("/console/verify?pack=" + url.QueryEscape("\" onfocus=alert(8) x=\""))} {
		inert(t, at, body)
	}
	shown := b.page(pack)
	if !strings.Contains(shown, "&lt;script&gt;alert(1)") {
		t.Errorf("the content is not shown as it is: %s", shown)
	}
	form := url.Values{"question": {"kiln"}, "session": {"a\u202egnp.exe\u2066 \U000e0041\u200b<b>"}}
	res := b.send("POST", "/console/ask", form)
	const seen = "a⟨U+202E⟩gnp.exe⟨U+2066⟩ ⟨U+E0041⟩⟨U+200B⟩&lt;b&gt;"
	if list := b.page("/console/packs"); !strings.Contains(res.body, seen) || !strings.Contains(list, seen) {
		t.Errorf("marks that are not seen are not shown: %s\n%s", res.body, list)
	}
	inert(t, "a session's name", res.body)
}

// inert checks that a page has the console's own script alone, no handlers, no styles, and
// addresses of the console alone.
func inert(t *testing.T, name, body string) {
	t.Helper()
	for _, mark := range []string{"\u202e", "\u2066", "\U000e0041", "\u200b"} {
		if strings.Contains(body, mark) {
			t.Errorf("%s has the mark %U", name, []rune(mark))
		}
	}
	doc, err := page.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	scripts := 0
	for n := range doc.Descendants() {
		if n.Type != page.ElementNode {
			continue
		}
		switch n.Data {
		case "script":
			scripts++
		case "img", "iframe", "object", "embed", "base", "style", "b", "i", "svg":
			t.Errorf("%s has an element %s", name, n.Data)
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc":
				t.Errorf("%s has an attribute %s", name, a.Key)
			case a.Key == "href" || a.Key == "src" || a.Key == "action":
				if !strings.HasPrefix(a.Val, "/console/") && !strings.HasPrefix(a.Val, "#") {
					t.Errorf("%s has the address %s", name, a.Val)
				}
			}
		}
	}
	if scripts != 1 {
		t.Errorf("%s has %d scripts", name, scripts)
	}
}

// The stations of an event say how far it is.
func TestStationsOfAnEvent(t *testing.T) {
	t.Parallel()
	s := setup(t, false)
	receipt := s.remember(schemas.MemoryItem{ID: "kiln", Content: text("The kiln is fired on Tuesdays.")})
	planner := s.planner()
	at := planner.page("/console/write?id=" + receipt.ID)
	if strings.Count(at, `class="reached"`) != 5 || !strings.Contains(at, receipt.Leaf) {
		t.Errorf("a proved event: %s", at)
	}
	at = planner.page("/console/write?id=never")
	if strings.Count(at, `class="ahead"`) != 5 || !strings.Contains(at, "satchel dlq ls") {
		t.Errorf("an event that never was: %s", at)
	}
}

// The script proves what is in the log, and refuses whatever was changed.
func TestTheScriptChecksProofs(t *testing.T) {
	t.Parallel()
	recent := "process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)"
	if out, err := exec.Command("node", "-e", recent).CombinedOutput(); err != nil {
		parts.Missing(t, "node", "Node 20 is needed: "+string(out))
	}
	s := setup(t, false)
	s.fill()
	b := s.planner()
	pack, _ := b.ask("when is the kiln fired?")
	b.ask("who mixes the glaze?") // so that the path is no straight line
	res := b.get(pack + "/proof")
	if res.StatusCode != http.StatusOK {
		t.Fatalf("proof: %s %s", res.Status, res.body)
	}
	cmd := exec.Command("node", "testdata/verify.js", path.Base(pack), s.tenant)
	cmd.Stdin = strings.NewReader(res.body)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "held, and 12 changes were found") {
		t.Errorf("%v\n%s", err, out)
	}
}
