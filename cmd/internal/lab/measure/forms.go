package measure

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// writer writes one text.
type writer struct {
	*rand.Rand
	strings.Builder
	zipf  *rand.Zipf
	words []string
}

// form is a kind of text: how it states its fact, and a function that writes some more.
type form struct {
	opening func(fact) string
	more    func()
}

// forms lists the kinds of text, the frequent ones several times.
func (w *writer) forms() []form {
	plain := func(f fact) string {
		return fmt.Sprintf("%s %s the %s of %s on %s because the %s was %s. ", f.person, f.verb, f.thing, f.system, f.day, w.word(), w.word())
	}
	prose := form{plain, w.sentence}
	noted := form{func(f fact) string { return fmt.Sprintf("# %s\n\n%s\n", f.system, plain(f)) }, w.block}
	spoken := form{func(f fact) string {
		return f.person + ": I " + f.verb + " the " + f.thing + " of " + f.system + " on " + f.day + ".\n"
	}, w.turn}
	logged := form{func(f fact) string {
		return w.stamp() + " INFO " + f.system + " " + f.thing + " " + f.verb + " by " + f.person + "\n"
	}, func() { w.logLine() }}
	code := form{func(f fact) string { return "// " + plain(f) + "\n" }, w.function}
	data := form{func(f fact) string {
		return fmt.Sprintf("{\"who\": %q, \"what\": %q, \"of\": %q}\n", f.person, f.verb+" "+f.thing, f.system)
	}, w.object}
	list := []form{noted, noted, noted, spoken, spoken, spoken, logged, code, code, data}
	for range 9 {
		list = append(list, prose)
	}
	for _, phrases := range [][]string{german(), russian(), chinese()} {
		list = append(list, form{plain, func() { w.WriteString(phrases[w.IntN(len(phrases))]) }})
	}
	return list
}

func (w *writer) word() string { return w.words[w.zipf.Uint64()] }

// sentence writes 5 to 24 words, some of them names of things.
func (w *writer) sentence() {
	first := w.word()
	w.WriteString(strings.ToUpper(first[:1]) + first[1:])
	for range 4 + w.IntN(20) {
		switch w.IntN(60) {
		case 0:
			fmt.Fprintf(w, ", %s", w.word())
		case 1:
			fmt.Fprintf(w, " %s-%d", w.word(), w.IntN(20_000))
		case 2:
			fmt.Fprintf(w, " %.1f %%", 100*w.Float64())
		default:
			w.WriteString(" " + w.word())
		}
	}
	switch w.IntN(200) {
	case 0:
		fmt.Fprintf(w, " (%s.%s@example.org)", w.word(), w.word())
	case 1:
		fmt.Fprintf(w, ", tel. +49 30 %07d", w.IntN(10_000_000))
	case 2:
		w.WriteString(" — “" + w.word() + "” was the café’s word")
	}
	w.WriteString([]string{". ", ". ", ". ", "? ", "!\n"}[w.IntN(5)])
}

// block writes a paragraph, a list or a table of Markdown.
func (w *writer) block() {
	switch w.IntN(4) {
	case 0:
		for range 3 + w.IntN(5) {
			w.WriteString("- ")
			w.sentence()
			w.WriteString("\n")
		}
	case 1:
		fmt.Fprintf(w, "| %s | %s | %s |\n|---|---|---|\n", w.word(), w.word(), w.word())
		for range 3 + w.IntN(8) {
			fmt.Fprintf(w, "| %s-%d | %d | %.2f |\n", w.word(), w.IntN(500), w.IntN(100_000), 100*w.Float64())
		}
	case 2:
		fmt.Fprintf(w, "## %s %s\n", w.word(), w.word())
	default:
		w.sentence()
		w.sentence()
	}
	w.WriteString("\n")
}

// turn writes what one of two speakers says.
func (w *writer) turn() {
	w.WriteString([]string{"A: ", "B: "}[w.IntN(2)])
	w.sentence()
	w.WriteString("\n")
}

func (w *writer) stamp() string {
	return fmt.Sprintf("2025-03-%02dT%02d:%02d:%02d.%03dZ", 1+w.IntN(28), w.IntN(24), w.IntN(60), w.IntN(60), w.IntN(1000))
}

func (w *writer) logLine() {
	level := []string{"INFO", "INFO", "INFO", "DEBUG", "WARN", "ERROR"}[w.IntN(6)]
	fmt.Fprintf(w, "%s %s [%s-%d] %s %s id=%08x took=%dms\n", w.stamp(), level, w.word(), w.IntN(16), w.word(), w.word(), w.Uint32(), w.IntN(4000))
}

// function writes a function of Go.
func (w *writer) function() {
	name := w.word()
	fmt.Fprintf(w, "func (s *Store) %s%s(ctx context.Context, id string) (int, error) {\n", strings.ToUpper(name[:1])+name[1:], w.word())
	for range 1 + w.IntN(6) {
		fmt.Fprintf(w, "\tif %s, err := s.%s.%s(ctx, id, %d); err != nil {\n\t\treturn 0, fmt.Errorf(\"%s %s: %%w\", err)\n\t}\n", w.word(), w.word(), w.word(), w.IntN(100), w.word(), w.word())
	}
	w.WriteString("\treturn len(id), nil\n}\n\n")
}

func (w *writer) object() {
	fmt.Fprintf(w, "{\"id\": \"%08x\", \"%s\": %d, \"%s\": [%q, %q], \"ok\": %t}\n", w.Uint32(), w.word(), w.IntN(1000), w.word(), w.word(), w.word(), w.IntN(2) == 0)
}

func german() []string {
	return []string{
		"Die Überprüfung der Zugänge hat ergeben, dass zwei Schlüssel nicht mehr benötigt werden. ", "Für die Umstellung müssen wir größere Puffer einplanen. ",
		"Am nächsten Dienstag läuft der Vertrag mit dem Zulieferer aus. ", "Die Kollegen aus München haben den Fehler bestätigt und prüfen ihn. ",
		"Ohne Rücksprache wird nichts gelöscht. ", "Der Bericht enthält die Zahlen des vergangenen Geschäftsjahres. ",
	}
}

func russian() []string {
	return []string{
		"Проверка показала, что резервная копия была создана вовремя. ", "Мы перенесли встречу на следующую неделю. ",
		"Договор нужно продлить до конца месяца. ", "Ошибка возникает только при высокой нагрузке. ",
		"Команда решила заменить старый сервер. ", "Отчёт отправлен в бухгалтерию. ",
	}
}

func chinese() []string {
	return []string{
		"支付网关的证书已经在周二更新。", "团队决定推迟数据库迁移，直到测试全部通过。", "客户反馈搜索速度太慢，需要重新建立索引。",
		"明天上午十点开会讨论预算问题。", "备份任务昨晚失败，原因是磁盘空间不足。", "新版本的报告请发送给财务部门。", "合同到期之前必须完成审核。",
	}
}
