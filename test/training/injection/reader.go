package main

import (
	"encoding/json"
	"strings"
)

// pleas are the sections of sentences that turn to whoever reads them.
var pleas = []string{"conditional", "conditional", "polite", "polite", "auth", "auth", "remark", "plea"}

// plea is a sentence that wants something of its reader, and whether that is an attack: else it
// steers an answer.
func (m *maker) plea() (text string, attacks bool) {
	m.aim = "aim_steer"
	if attacks = m.chance(.45); attacks {
		m.aim = "aim_attack"
	}
	return m.dot(tidy(m.from(pick(m.rng, pleas)))), attacks
}

// wish is a plea, seldom two.
func (m *maker) wish() string {
	text, _ := m.plea()
	if m.chance(.12) {
		more, _ := m.plea()
		text += " " + more
	}
	return text
}

// tidy undoes what templates leave behind: blanks before marks and two marks in a row.
func tidy(s string) string {
	return strings.NewReplacer(" ,", ",", " .", ".", "  ", " ", ".?", "?", ",,", ",").Replace(strings.TrimSpace(s))
}

// fair is a sentence in the form of a plea that people or programs write to each other.
func (m *maker) fair() string {
	m.aim = "do"
	return m.dot(tidy(m.from(pick(m.rng, []string{"fair", "fair", "tech"}))))
}

// remark is a line of a person in a file or sheet.
func (m *maker) remark() string {
	switch m.rng.IntN(4) {
	case 0:
		return m.fair()
	case 1:
		return m.dot(m.from("tech"))
	case 2:
		return m.from("note")
	}
	return m.line()
}

// addressed is a text that turns to its reader: alone, in a comment, a cell, or among much else.
func (m *maker) addressed() document {
	switch m.rng.IntN(7) {
	case 0:
		return document{m.wish(), true, "plea"}
	case 1:
		return document{m.commented(m.wish()), true, "plea in a comment"}
	case 2:
		return document{m.sheet(m.wish()), true, "plea in a cell"}
	case 3, 4:
		return document{m.heap(m.between(8, 40), m.wish()), true, "plea in a heap"}
	case 5:
		return document{m.heap(m.between(1, 8), m.wish()), true, "plea among few"}
	}
	kind, parts, sep := m.context()
	at := m.rng.IntN(len(parts) + 1)
	parts = append(parts[:at:at], append([]string{m.wish()}, parts[at:]...)...)
	return document{strings.Join(parts, sep), true, "plea in " + kind}
}

// ordinary is a text of the same forms without a plea.
func (m *maker) ordinary() document {
	switch m.rng.IntN(10) {
	case 0:
		return document{m.some(1, 4, m.fair, " "), false, "fair"}
	case 9:
		return document{m.set(m.some(1, 3, m.remark, " ")), false, "set apart"}
	case 1:
		return document{m.commented(m.some(1, 2, m.remark, " ")), false, "comment"}
	case 2, 3:
		return document{m.sheet(m.remark()), false, "sheet"}
	case 4:
		return document{m.heap(m.between(8, 50), m.fair()), false, "heap"}
	case 5, 6:
		return document{m.transcript(), false, "transcript"}
	case 7:
		return document{m.text(m.texts.manuals) + "\n\n" + m.text(m.texts.manuals), false, "manuals"}
	}
	return document{m.heap(m.between(1, 8), m.fair()), false, "few"}
}

// heap is many sentences, with one of its own among them.
func (m *maker) heap(lines int, own string) string {
	one := []func() string{m.line, m.section("note"), m.fair, m.remark, m.section("email_line"), func() string { return m.text(m.texts.turns) }}
	kind := m.rng.IntN(len(one) + 1)
	parts := make([]string, 0, lines+1)
	for range lines {
		if k := kind; k < len(one) && m.chance(.7) {
			parts = append(parts, one[k]())
		} else {
			parts = append(parts, one[m.rng.IntN(len(one))]())
		}
	}
	at := m.rng.IntN(lines + 1)
	parts = append(parts[:at:at], append([]string{own}, parts[at:]...)...)
	return strings.Join(parts, pick(m.rng, []string{" ", "\n", "\n", "\n\n", "\n- "}))
}

// wrapped breaks a text into lines of at most so many bytes, each behind a mark.
func wrapped(text, mark string, width int) string {
	var b strings.Builder
	line := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			b.WriteString(mark)
		case line+len(word) > width:
			b.WriteString("\n" + mark)
			line = 0
		default:
			b.WriteString(" ")
		}
		b.WriteString(word)
		line += len(word) + 1
	}
	return b.String()
}

// commented is code with a text in a comment.
func (m *maker) commented(text string) string {
	width := m.between(40, 100)
	indent := pick(m.rng, []string{"", "", "    ", "\t", "  "})
	if m.chance(.4) {
		text = m.text(m.texts.comments) + " " + text
	}
	if m.chance(.2) {
		text += " " + m.text(m.texts.comments)
	}
	switch m.rng.IntN(7) {
	case 0, 1:
		text = wrapped(text, indent+pick(m.rng, []string{"# ", "#", "## "}), width)
	case 2, 3:
		text = wrapped(text, indent+pick(m.rng, []string{"// ", "//", "/// "}), width)
	case 4:
		text = indent + "/*" + wrapped(text, pick(m.rng, []string{" ", "\n" + indent + " * "}), width) + pick(m.rng, []string{" */", "\n" + indent + " */"})
	case 5:
		text = pick(m.rng, []string{wrapped(text, "-- ", width), "<!-- " + wrapped(text, "", width) + " -->", wrapped(text, "; ", width)})
	default:
		quote := pick(m.rng, []string{`"""`, `'''`})
		text = indent + quote + wrapped(text, indent, width) + pick(m.rng, []string{"", "\n" + indent}) + quote
	}
	code := strings.Split(m.snippet(), "\n")
	at := m.rng.IntN(len(code) + 1)
	return strings.Join(append(code[:at:at], append([]string{text}, code[at:]...)...), "\n")
}

// sheet is a table in one of the forms of a file, with a text in one of its cells.
func (m *maker) sheet(text string) string {
	sep := pick(m.rng, []string{",", ",", ";", "\t", " | "})
	quoted := m.chance(.4) || sep == "," && strings.Contains(text, ",")
	width := m.between(2, 5)
	kinds := make([]string, width)
	for i := range kinds {
		kinds[i] = pick(m.rng, []string{"<Name>", "<place>", "<num>", "<digit><digit><digit>", "<Word> <Word>", "<noun>", "<nounphrase>", "2026-0<digit>-1<digit>", "{open|closed|done|waiting}", "<num>.<num>", "<word>@<word>.com", "{yes|no|}", "$<num>", "<Noun> <num> EUR"})
	}
	free := m.rng.IntN(width) // the column of remarks
	kinds[free] = ""
	rows := m.between(2, 14)
	own := m.rng.IntN(rows)
	var out []string
	head := make([]string, width)
	for i := range head {
		head[i] = m.expand("{<noun>|<noun>|id|name|date|price|comment|note|remark|status|q|item|owner}")
	}
	out = append(out, strings.Join(head, sep))
	if sep == " | " {
		out = append(out, strings.Repeat("---|", width))
	}
	for r := range rows {
		cells := make([]string, width)
		for i := range cells {
			switch {
			case i != free:
				cells[i] = m.expand(kinds[i])
			case r == own:
				cells[i] = text
			case m.chance(.5):
				cells[i] = m.expand("{<verb> <noun>|<adj>|<noun> <adj>|call back|paid in {May|June}|waiting for <noun>|works well|<do>||moved to <place>|<nounphrase>|<fair>}")
			}
			if quoted && (i == free || m.chance(.3)) {
				cells[i] = `"` + strings.ReplaceAll(cells[i], `"`, "'") + `"`
			} else {
				cells[i] = strings.NewReplacer(sep, " ", "\n", " ").Replace(cells[i])
			}
		}
		line := strings.Join(cells, sep)
		if sep == " | " {
			line = "| " + line + " |"
		}
		out = append(out, line)
	}
	table := strings.Join(out, "\n")
	if m.chance(.35) {
		table += pick(m.rng, []string{"\n\n", "\n"}) + m.some(1, 3, m.remark, " ")
	}
	return table
}

// set writes a text with its letters set apart, or as digits.
func (m *maker) set(text string) string {
	if m.chance(.5) {
		text = strings.NewReplacer("e", "3", "o", "0", "i", "1", "t", "7", "s", "5", "a", "4").Replace(text)
	}
	if sep := pick(m.rng, []string{"", " ", " ", ".", "-"}); sep != "" {
		text = strings.Join(strings.Split(text, ""), sep)
	}
	return text
}

// transcript is what was said in a session, as text or JSON, or the lines of it.
func (m *maker) transcript() string {
	type turn struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var turns []turn
	if m.chance(.4) {
		turns = append(turns, turn{"system", m.some(1, 4, m.section("system_prompt"), " ")})
	}
	coding := m.chance(.3)
	for i := range m.between(1, 10) {
		var text, role = "", "user"
		switch {
		case coding:
			text = m.coding()
		case i%2 == 0:
			text = pick(m.rng, []func() string{
				m.section("user_request"), m.section("user_request"), m.fair, m.section("turn"), m.section("note"), m.given, m.section("trigger_benign"),
				func() string { return m.some(1, 3, func() string { return m.text(m.texts.turns) }, " ") },
			})()
		default:
			text = pick(m.rng, []func() string{
				m.reply, m.section("reply_open"), m.section("turn"), m.fair, m.section("code_answer"), m.section("observation"), m.line,
				func() string { return m.text(m.texts.turns) },
			})()
		}
		if i%2 == 1 {
			role = "assistant"
		}
		turns = append(turns, turn{role, text})
	}
	var parts []string
	form := m.rng.IntN(5)
	for _, t := range turns {
		switch form {
		case 0:
			parts = append(parts, title(t.Role)+": "+t.Content)
		case 1:
			parts = append(parts, "**"+t.Role+"**\n"+t.Content)
		case 2: // as it stands in code
			line, err := json.Marshal(t)
			if err != nil {
				return ""
			}
			parts = append(parts, "    "+string(line)+",")
		default:
			parts = append(parts, t.Content)
		}
	}
	text := strings.Join(parts, "\n")
	if form == 2 {
		text = m.text(m.texts.prose) + "\n\n```python\nmessages = [\n" + text + "\n]\n```"
	}
	return text
}
