package main

import (
	"strconv"
	"strings"

	"satchel/pipeline/selection/defend/injection"
)

// maker composes documents of sentences.
type maker struct {
	*grammar
	texts  *texts
	groups *injection.Groups
}

// document is a text with its label.
type document struct {
	text     string
	injected bool
	kind     string
}

func (m *maker) chance(p float64) bool { return m.rng.Float64() < p }

func (m *maker) between(lo, hi int) int { return lo + m.rng.IntN(hi-lo+1) }

// text picks one of the texts of people, of the half that is drawn from.
func (m *maker) text(list []string) string {
	i := m.rng.IntN(len(list))
	if m.half >= 0 && i%2 != m.half {
		i ^= 1
	}
	return list[min(i, len(list)-1)]
}

func (m *maker) some(lo, hi int, one func() string, sep string) string {
	list := make([]string, m.between(lo, hi))
	for i := range list {
		list[i] = one()
	}
	return strings.Join(list, sep)
}

func (m *maker) section(name string) func() string {
	return func() string { return m.from(name) }
}

// dot ends a sentence, mostly.
func (m *maker) dot(s string) string {
	if s != "" && !strings.ContainsAny(s[len(s)-1:], ".?!:>]}") && m.chance(.9) {
		return s + pick(m.rng, []string{".", ".", ".", ".", "!"})
	}
	return s
}

// context is a document of somebody else's: what may carry an injection.
func (m *maker) context() (kind string, parts []string, sep string) {
	switch m.rng.IntN(15) {
	case 12, 13:
		return "manual", strings.Split(m.text(m.texts.manuals), "\n"), "\n"
	case 10:
		return "article", m.list(2, 8, m.line), pick(m.rng, []string{" ", "\n", "\n\n"})
	case 11:
		return "thread", m.list(1, 4, func() string { return m.some(1, 4, m.line, " ") }), pick(m.rng, []string{"\n", "\n\n", "\n======\n"})
	case 0, 1:
		return m.email()
	case 2, 3:
		return "table", m.table(), "\n"
	case 4, 5:
		return "code", m.answer(), "\n\n"
	case 6:
		return "observation", m.list(1, 3, m.section("observation")), " "
	case 7:
		return "docs", m.list(1, 3, func() string { return m.text(m.texts.prose) }), "\n"
	case 8:
		return "prose", m.list(2, 7, func() string { return m.text(m.texts.glosses) }), " "
	}
	return "comments", m.list(1, 3, func() string { return m.text(m.texts.comments) }), "\n"
}

func (m *maker) list(lo, hi int, one func() string) []string {
	out := make([]string, m.between(lo, hi))
	for i := range out {
		out[i] = one()
	}
	return out
}

func (m *maker) email() (string, []string, string) {
	var parts []string
	if m.chance(.5) {
		parts = append(parts, m.expand(pick(m.rng, []string{"Subject: {Re: |Fwd: |}<Word> <noun>", "SUBJECT: <nounphrase>", "From: <Name> <Word>", "To: <Name>", "Subject: {Your|New} <noun> {from|for} <Word>", "EMAIL_FROM: <Name>", "Date: Mon, <num> May 2023"})))
	}
	if m.chance(.7) {
		parts = append(parts, m.from("email_open"))
	}
	for range m.between(1, 8) {
		if m.chance(.7) {
			parts = append(parts, m.from("email_line"))
		} else {
			parts = append(parts, m.line())
		}
	}
	if m.chance(.5) {
		parts = append(parts, m.from("email_close"))
	}
	return "email", parts, pick(m.rng, []string{"\n", " ", " ", "", "\n\n"})
}

// line is a sentence of what people write to many.
func (m *maker) line() string {
	switch r := m.rng.Float64(); {
	case r < .25:
		return m.text(m.texts.turns)
	case r < .4:
		return m.text(m.texts.prose)
	case r < .55:
		return m.text(m.texts.glosses)
	case r < .65:
		return m.text(m.texts.comments)
	case r < .75:
		return m.from("advice")
	case r < .85:
		return m.from("email_line")
	case r < .93:
		return m.expand("{The|A|This|Our} <adj> <noun> {of|in|for|near} <place> {was|is|has been|will be} {<adj>|the <noun> of the <noun>|<num> {years|miles|percent} <adj>}{ {since|in|by} 20<digit><digit>||}.")
	}
	return m.from("trigger_benign")
}

func (m *maker) table() []string {
	width := m.between(2, 7)
	kinds := make([]string, width)
	head := make([]string, width)
	for i := range kinds {
		kinds[i] = pick(m.rng, []string{"<Name>", "<place>", "<num>", "<Word> <Word>", "<digit>-<digit>", "<noun>", "<nounphrase>", "{January|May|June|October} <digit>, 19<digit><digit>", "{W|L} <digit>–<digit>", "<num>,<num>", "<Name> <Word>", "{Yes|No|}", "$<num>", "<nounphrase> of <nounphrase>",
			"\"{<Verb> the <Noun>|<Word> <Word> {of|and|in} <Word>|<Verb> Me|The <Word>}\"", "{<Verb>|<Verb> {the|a|My|Your|Every} <Noun>|<Word> {at|to|for} <place>}", "{lost|won|drew|beat} {to |}<Name> in the <nounphrase>",
			"<Word> v <Word>", "{at|vs.|} <place> <Word>", "<digit>.<digit>{%| km| MHz|}", "{<Word> |}<Word>, <Word>", "<digit><digit>:<digit><digit>.<digit>", "gloss"})
		head[i] = m.expand("<Noun>{ <noun>|}")
	}
	rows := []string{"| " + strings.Join(head, " | ") + " |"}
	if m.chance(.4) {
		rows = append(rows, "|"+strings.Repeat(" --- |", width))
	}
	pad := m.chance(.5)
	for range m.between(2, 20) {
		cells := make([]string, width)
		for i := range cells {
			if cells[i] = m.expand(kinds[i]); kinds[i] == "gloss" {
				cells[i] = m.text(m.texts.glosses)
			}
			if pad && len(cells[i]) < 18 {
				cells[i] += strings.Repeat(" ", 18-len(cells[i]))
			}
		}
		rows = append(rows, "| "+strings.Join(cells, " | ")+" |")
	}
	return rows
}

// answer is an answer about a program: sentences and blocks of code.
func (m *maker) answer() []string {
	var parts []string
	for range m.between(1, 4) {
		parts = append(parts, m.some(1, 3, m.section("code_answer"), " "))
		if m.chance(.75) {
			parts = append(parts, "```\n"+m.snippet()+"\n```")
		}
	}
	if m.chance(.3) {
		parts = append([]string{m.from("user_code")}, parts...)
	}
	return parts
}

func (m *maker) snippet() string {
	lines := strings.Split(m.text(m.texts.code), "\n")
	n := min(len(lines), m.between(1, 14))
	at := m.rng.IntN(len(lines) - n + 1)
	return strings.Join(lines[at:at+n], "\n")
}

// payload is an injected instruction of any kind.
func (m *maker) payload(kind string) string {
	if kind == "code" && m.chance(.55) || m.chance(.06) {
		lines := m.list(1, 5, m.section("evil_line"))
		if m.chance(.5) {
			lines = append([]string{pick(m.rng, []string{"import requests", "import os", "import subprocess", "import socket", "import json, requests", "import smtplib", "import base64"})}, lines...)
		}
		return m.from("code_directive") + "\n```\n" + strings.Join(lines, "\n") + "\n```"
	}
	switch r := m.rng.Float64(); {
	case r < .36:
		return m.dot(m.from("task"))
	case r < .70:
		return m.dot(m.from("reply"))
	case r < .76:
		return m.dot(m.from("reply")) + " " + m.dot(m.from("reply"))
	}
	return m.attack()
}

func (m *maker) sentence() string {
	return m.dot(m.from(pick(m.rng, []string{"override", "override", "leak", "exfil", "tool", "tool", "marker", "must", "poison", "mode"})))
}

func (m *maker) attack() string { return m.some(1, 3, m.sentence, " ") }

// innocent is a text that carries no injection, of the kinds a memory holds.
func (m *maker) innocent() document {
	var text, kind string
	switch m.rng.IntN(29) {
	case 23, 24, 25, 26, 27, 28:
		text, kind = m.text(m.texts.manuals), "manual"
	case 17, 18, 19:
		text, kind = m.coding(), "coding"
	case 20:
		text, kind = m.from("commit_message")+"\n\n"+m.some(1, 4, func() string {
			if m.chance(.5) {
				return m.line()
			}
			return m.from("commit_message")
		}, pick(m.rng, []string{" ", "\n"})), "commit"
	case 21:
		text, kind = title(m.text(m.texts.glosses))+" "+m.some(2, 9, m.scholarly, " "), "abstract"
	case 22:
		text, kind = m.some(1, 3, m.section("code_answer"), " ")+"\n"+m.text(m.texts.code), "code"
	case 0, 1, 2:
		text, kind = m.some(1, 3, func() string { return m.text(m.texts.turns) }, " "), "chat"
	case 3, 4:
		text, kind = m.from("user_request"), "request"
	case 5:
		text, kind = m.some(2, 6, m.section("user_request"), pick(m.rng, []string{" ", "\n"})), "requests"
	case 6:
		text, kind = m.given(), "given"
	case 7, 8, 9:
		text, kind = m.reply(), "reply"
	case 10, 11:
		text, kind = m.from("trigger_benign"), "trigger"
	case 12:
		text, kind = m.some(2, 4, m.section("trigger_benign"), " "), "trigger"
	case 13:
		text, kind = m.some(1, 4, m.section("note"), " "), "note"
	case 14:
		text, kind = m.some(1, 3, m.section("advice"), " "), "advice"
	case 15:
		text, kind = m.mixed(), "mixed"
	default:
		text, kind = m.dot(m.from("task")), "request"
	}
	return document{text, false, kind}
}

// given is a request about a text that is given with it.
func (m *maker) given() string {
	_, parts, sep := m.context()
	text := strings.Join(parts, sep)
	if m.chance(.7) {
		return m.from("deictic") + pick(m.rng, []string{"\n\n", "\n", " "}) + text
	}
	return text + "\n\n" + m.from("deictic")
}

// reply is an answer of an assistant: an opening, points of advice, a close.
func (m *maker) reply() string {
	var b strings.Builder
	b.WriteString(m.from("reply_open"))
	numbered := m.chance(.6)
	gap := pick(m.rng, []string{"\n", "\n\n"})
	for i := range m.between(2, 10) {
		b.WriteString(gap)
		if numbered {
			b.WriteString(strconv.Itoa(i+1) + ". ")
		} else if m.chance(.5) {
			b.WriteString("* ")
		}
		switch r := m.rng.Float64(); {
		case r < .65:
			b.WriteString(m.some(1, 2, m.section("advice"), " "))
		case r < .75:
			b.WriteString(m.text(m.texts.glosses))
		case r < .85:
			b.WriteString(m.dot(m.from("task")))
		default:
			b.WriteString(m.expand("\"<Word> <noun>\" by <Name> <Word>: {a|an} <adj> <noun> {about|with|of} <noun>"))
		}
	}
	if m.chance(.6) {
		b.WriteString("\n\n" + m.from("reply_close"))
	}
	return b.String()
}

// coding is a turn of a chat about a program, from either side.
func (m *maker) coding() string {
	side := pick(m.rng, []string{"coding_turn", "coding_reply"})
	var b strings.Builder
	b.WriteString(m.from(side))
	for range m.between(1, 6) {
		b.WriteString(pick(m.rng, []string{"\n\n", "\n"}))
		switch r := m.rng.Float64(); {
		case r < .3:
			b.WriteString(m.some(1, 2, m.section(side), " "))
		case r < .4:
			b.WriteString(m.from("code_answer"))
		case r < .5:
			b.WriteString(m.some(1, 3, m.section("advice"), "\n"))
		case r < .55:
			b.WriteString(m.from("task_extra"))
		default:
			code := m.some(1, 6, m.section("soft_line"), "\n")
			if m.chance(.6) {
				code = m.snippet() + "\n" + code
			}
			if m.chance(.85) {
				code = pick(m.rng, []string{"```python\n", "```\n", "```javascript\n", "```bash\n"}) + code + "\n```"
			}
			b.WriteString(code)
		}
	}
	return b.String()
}

// scholarly is a sentence of an abstract.
func (m *maker) scholarly() string {
	if m.chance(.4) {
		return m.text(m.texts.prose)
	}
	return m.expand("{We|The authors|This {paper|study|review}|Results|Our {results|findings|data}|It} {{describe|discuss|show|report|suggest|examine|evaluate|summarize|review|compare|propose|present|find|conclude}{s|d|}} {that |how |}{the |a |}{<adj> |}<noun> {of|in|for|and} {the |}<adj> <noun>{ {was|is|were|are} {<adj>|reviewed|increased|associated with <noun>|described}||}{, {and|but|while} the <noun> {of|in} <noun> {remains|was|is} <adj>|}.")
}

// mixed is a turn of several kinds of sentence.
func (m *maker) mixed() string {
	var parts []string
	for range m.between(2, 5) {
		switch m.rng.IntN(5) {
		case 0:
			parts = append(parts, m.text(m.texts.turns))
		case 1:
			parts = append(parts, m.from("trigger_benign"))
		case 2:
			parts = append(parts, m.from("note"))
		case 3:
			parts = append(parts, m.from("advice"))
		default:
			parts = append(parts, m.from("user_request"))
		}
	}
	return strings.Join(parts, " ")
}

// infected is a document with a payload at its start, in its middle or at its end.
func (m *maker) infected() document {
	kind, parts, sep := m.context()
	if m.chance(.1) {
		kind, parts, sep = "reply", strings.Split(m.reply(), "\n"), "\n"
	}
	payload := m.payload(kind)
	at := 0
	switch m.rng.IntN(3) {
	case 0:
		at = len(parts)
	case 1:
		at = m.between(min(1, len(parts)), len(parts))
	}
	glue := "\n"
	if m.chance(.35) {
		glue = " "
	}
	if at == len(parts) && m.chance(.3) {
		glue = "\n\n"
	}
	head, tail := strings.Join(parts[:at], sep), strings.Join(parts[at:], sep)
	return document{strings.TrimSpace(head + glue + payload + glue + tail), true, "in " + kind}
}

// hijacked is an attack on its own or in the words of a chat.
func (m *maker) hijacked() document {
	text := m.attack()
	switch m.rng.IntN(5) {
	case 0:
		text = m.text(m.texts.turns) + " " + text
	case 1:
		text += " " + m.text(m.texts.turns)
	case 2:
		text = m.innocent().text + pick(m.rng, []string{"\n", " ", "\n\n"}) + text
	}
	return document{text, true, "attack"}
}

// plain is a context without payload.
func (m *maker) plain() document {
	kind, parts, sep := m.context()
	for m.chance(.2) {
		at := m.rng.IntN(len(parts) + 1)
		parts = append(parts[:at:at], append([]string{m.line()}, parts[at:]...)...)
	}
	return document{strings.Join(parts, sep), false, "plain " + kind}
}

// any makes a document of one of the kinds; somewhat less than half of them carry an injection.
func (m *maker) any() document {
	switch r := m.rng.Float64(); {
	case r < .2:
		return m.infected()
	case r < .29:
		return m.hijacked()
	case r < .47:
		return m.addressed()
	case r < .62:
		return m.plain()
	case r < .81:
		return m.ordinary()
	}
	return m.innocent()
}
