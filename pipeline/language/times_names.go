package language

import (
	"iter"
	"strings"
)

// What a word can be. The number beside it says which.
type kind uint8

const (
	other  kind = iota
	number      // 1 to 31, written as a word
	month
	weekday // Sunday is 0
	unit    // of units
	season  // its first month
	alone   // a season or a feast that is a date without a preposition
	lasting // a season or a feast lasts behind it
	english // stands before an English noun
	loose   // no English noun begins with it: what stands before it is no attribute
	when    // a feast stands behind it
	begins  // the first word of a name of more words
	feast   // 10 times its day, and how many days it has
	holiday // the same of one whose name is other things, too
	single  // of how many days it is: one day, one weekend
	near    // a day by its distance from today
	side    // last −1, this 0, next +1
	ago     // the distance stands before it, or behind it in German, Spanish and French
	recent  // the last days, weeks…
	from
	to // 1 where only what lies between can be meant
	before
	since
	after
	until
	in      // a month or a year stands behind it
	of      // what stands behind it belongs to what stands before it
	hours   // a part of a day
	part    // a third of what stands behind it: the first, the second, the last
	verb    // a part only where no word but "of" stands between: it did not end in March
	tail    // 10 times a piece, and of how many, of what stands before it
	ordinal // first, second…
	pieces  // of how many an ordinal says which, and of what
	latest  // asks for the newest; 1 where most has to stand before it
	most    // stands before what is newest where that word alone does not ask
	thing   // what a last one is
	fill    // says nothing between the parts of a date
	asking  // asks for what there is of a time, whatever it is
)

const (
	unitDay = iota
	unitWeek
	unitMonth
	unitYear
	unitWeekend
	unitQuarter
)

// What a name of pieces takes the pieces of where no whole is named.
const (
	ofNone = 10 * iota
	ofYear
	ofMonth
)

type meaning struct {
	kind kind
	n    int
}

// lexicon is what words mean, in English, German, Spanish, French, Russian and Chinese.
var lexicon = readNames()

// alike are names of months and weekdays that are other words or people's names, too.
const alike = " may march mar sun sat wed sept jan juli "

// elsewhere are those that no capital begins where they are names of months and weekdays.
const elsewhere = " mars domingo "

// IsTimeName reports whether a word, whatever its case, names a month or a day of the week.
func IsTimeName(word string) bool {
	word = strings.ToLower(word)
	t := token{means: lexicon[word]}
	return t.isAny(month, weekday) && !strings.Contains(elsewhere, " "+word+" ")
}

// IsOnlyTimeName reports whether a word names a month or a day of the week and means nothing else.
func IsOnlyTimeName(word string) bool {
	return IsTimeName(word) && !strings.Contains(alike, " "+strings.ToLower(word)+" ")
}

// TimeNames are the names of months and days of the week that mean nothing else, in lower case.
func TimeNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		for word := range lexicon {
			if IsOnlyTimeName(word) && !yield(word) {
				return
			}
		}
	}
}

func readNames() map[string][]meaning {
	all := map[string][]meaning{}
	name := func(k kind, first int, list ...string) {
		for i, words := range list {
			for w := range strings.FieldsSeq(words) {
				all[w] = append(all[w], meaning{k, first + i})
				if start, _, several := strings.Cut(w, "_"); several {
					all[start] = append(all[start], meaning{begins, 0})
				}
			}
		}
	}
	name(month, 1,
		"january jan januar jänner enero janvier janv январь января январе", "february feb februar febrero février févr февраль февраля феврале",
		"march mar märz mrz marzo mars март марта марте", "april apr abril avril апрель апреля апреле", "may mai mayo май мая мае",
		"june jun juni junio juin июнь июня июне", "july jul juli julio juillet juil июль июля июле", "august aug agosto août август августа августе",
		"september sep sept septiembre septembre сентябрь сентября сентябре", "october oct oktober okt octubre octobre октябрь октября октябре",
		"november nov noviembre novembre ноябрь ноября ноябре", "december dec dezember dez diciembre décembre déc декабрь декабря декабре")
	name(weekday, 0, "sunday sun sonntag domingo dimanche воскресенье воскресенья 星期日 星期天 周日 个星期日 个周日", "monday mon montag lunes lundi понедельник понедельника 星期一 周一 个星期一 个周一",
		"tuesday tue tues dienstag martes mardi вторник вторника 星期二 周二 个星期二 个周二", "wednesday wed mittwoch miércoles mercredi среду среда среды 星期三 周三 个星期三 个周三",
		"thursday thu thur thurs donnerstag jueves jeudi четверг четверга 星期四 周四 个星期四 个周四", "friday fri freitag viernes vendredi пятницу пятница пятницы 星期五 周五 个星期五 个周五",
		"saturday sat samstag sonnabend sábado samedi субботу суббота субботы 星期六 周六 个星期六 个周六")
	name(unit, unitDay, "day days tag tage tagen día días jour jours день дня дней 天 日", "week weeks woche wochen semana semanas semaine semaines неделя недели недель неделю неделе 周 星期 个星期",
		"month months monat monate monaten monats mes meses mois месяц месяца месяцев месяце 月 个月", "year years jahr jahre jahren jahres año años an ans année années год года лет году 年", "weekend weekends wochenende 周末",
		"quarter quarters quartal quartale quartalen trimestre trimestres квартал квартала квартале кварталов 季度 个季度")
	name(hours, 0, "morning evening afternoon night noon morgen vormittag mittag nachmittag abend nacht früh mañana tarde noche matin soir après-midi nuit утром вечером днём ночью 早上 上午 下午 晚上")
	name(part, 1, "beginning start early anfang beginn principio principios comienzo comienzos inicio inicios début начало начале начала",
		"middle mid mitte mediados mi milieu середина середине середины", "end late ende fin fines final finales конец конце конца")
	name(verb, 0, "start end")
	name(tail, 12, "上半年 上半月 上半")
	name(tail, 13, "初 上旬")
	name(tail, 22, "下半年 下半月 下半")
	name(tail, 23, "中旬")
	name(tail, 33, "底 末 下旬")
	name(ordinal, 1, "first 1st erste ersten erster erstes premier première primer primera primeros primero первый первого первая первой первую первое первом 第一",
		"second 2nd zweite zweiten zweiter zweites second seconde deuxième segundo segunda второй вторая вторую второе втором 第二",
		"third 3rd dritte dritten drittes troisième tercer tercera третий третья третьей третье третьем 第三", "fourth 4th vierte vierten viertes quatrième cuarto cuarta четвёртый четвертый четвёртом четвертом 第四",
		"fifth 5th fünfte fünften fünfter fünftes cinquième quinto quinta пятый пятого пятая пятую пятой пятое 第五")
	name(pieces, ofNone+2, "half hälfte moitié mitad половина половине половину половины")
	name(pieces, ofYear+2, "halbjahr semester semestre полугодие полугодии полугодия")
	name(pieces, ofMonth+2, "quinzaine quincena")
	name(pieces, ofYear+4, "quarter quartal trimestre квартал квартала квартале 季度")
	name(latest, 0, "latest newest zuletzt neueste neuesten neuester neuestes neustes jüngste jüngsten jüngster jüngstes últimamente 最新 最近 最后",
		"recent recently récent récente récents récemment reciente recientes recientemente недавно недавний")
	name(most, 0, "most plus más самый самое")
	name(thing, 0, "thing things time one mal fois chose vez cosa что раз")
	name(season, 3, "spring frühling frühjahr primavera printemps весной весна весны весну 春天 春季")
	name(season, 6, "summer sommer verano été летом лето лета 夏天 夏季")
	name(season, 9, "autumn fall herbst otoño automne осенью осень осени 秋天 秋季")
	name(season, 12, "winter invierno hiver зимой зима зимы зиму 冬天 冬季")
	name(alone, 0, "весной летом осенью зимой 春天 夏天 秋天 冬天")
	name(lasting, 0, "over all through throughout pendant durant durante während über ganzen tout todo toda")
	name(english, 0, "the last previous this current next in of during since until till by before after late early mid from between to through throughout and at on over around all")
	name(loose, 0, `i you he she it we they them us who whom whose what which when where why how that these those there some any no every each all both my your
		his her its our their or but nor if because so as than with without at for about into over off out up down around near via against besides except behind
		is are was were be been being does did has have had can could will would shall should might must not never ever again already also too then now once here
		still just only even yet instead please though anyway rather together alone later earlier perhaps maybe always often sometimes twice well else like
		exactly really actually finally mostly usually especially come came go went get got make made take took give gave begin began`)
	name(when, 0, "at on over around an zu auf à en por на")
	readFeasts(name)
	name(single, 1, "day tag día jour день 天", "weekend wochenende 周末")
	name(near, -2, "vorgestern anteayer avant-hier позавчера 前天", "yesterday gestern ayer hier вчера 昨天 昨晚", "today tonight heute hoy aujourd'hui сегодня 今天 今晚 今早", "tomorrow morgen mañana demain завтра 明天",
		"übermorgen après-demain послезавтра 后天")
	name(side, -1, "last previous letzte letzten letzter letztes letztem voriger voriges vorige vorigen vorigem vergangene vergangenen vergangener vergangenes pasado pasada último última dernier dernière прошлый прошлая прошлой прошлом прошлую прошлое прошлого прошлым последний последняя последнюю последнего 上 上个 去", "this current diese diesen dieser dieses diesem este esta ce cet cette этот эта этой этом эту этим 这 这个 本 今",
		"next nächste nächsten nächster nächstes nächstem kommende kommenden kommender kommendes próximo próxima prochain prochaine следующий следующей следующем следующую следующим 下 下个 明")
	name(ago, 0, "ago vor hace a назад 前")
	name(recent, 0, "last past letzten vergangenen últimos últimas derniers dernières последние 最近 过去")
	name(from, 0, "between from zwischen von vom entre desde du с 从")
	name(to, 0, "and und y et", "to through bis a al au à по - – 到 至")
	name(before, 0, "before vor antes avant до 之前")
	name(since, 0, "since seit desde depuis с from ab")
	name(after, 0, "after nach después après после")
	name(until, 0, "until till by bis hasta jusqu'au jusqu'à jusqu'en до")
	name(in, 0, "in of during last since until by before after early late mid im am seit en de del dès au à в throughout pendant durant durante während")
	name(of, 0, "of de du del des")
	name(fill, 0, "of the de del dem den der el la le on th des do por in im zum 的 的时候")
	name(asking, 0, `what was were is are am has have had did do does done been be get got went going go on up in during for about over at to and with from a an i
		we you us me our my they it there happened happen happens happening occurred occur took place new news all everything anything events event notes note
		memories memory entries log logged diary records recorded noted stored summary summarise summarize recap overview digest list give show tell
		remember recall review say said talk talked talking discuss discussed discussing speak spoke mention mentioned learn learned work worked working
		please can could would will`,
		`was ist sind war waren hat haben habe wurde wurden geschah geschehen passiert passierte passieren los gab gibt es neu neues gemacht getan alles
		fasse fass zusammen zusammenfassung überblick liste zeig zeige gib gesagt gesprochen besprochen geredet gearbeitet mir uns wir ich am im in an vom und einen eine bitte`,
		`qu'est-ce est ce qui que quoi s'est a ai avons passé passe produit arrivé fait résume résumé résumer tout nous je on il y au aux en dans un une
		liste montre donne moi dit parlé discuté travaillé`,
		`qué que pasó ha hay ocurrió sucedió hicimos hice resume resumen resumir todo lista dijo dijeron hablamos hablado trabajamos hubo durante en el los las me nos muestra dame`,
		`что произошло произошел случилось было были делали сделали нового итоги всё все перечисли покажи расскажи говорили сказали обсуждали работали мы я за в во о об`,
		`发 生 发生 了 什 么 什么 有 哪 些 总 结 总结 说 谈 聊 讨论 工作 一下 我 们 我们 做 事 事情 在 中 里 都 请 的`)
	name(number, 1, "one a an einem einer einen ersten un una une premier primero один первого 一", "two couple zwei dos deux два две 两 二", "three drei tres trois три 三", "four vier cuatro quatre четыре 四", "five fünf cinco cinq пять 五",
		"six sechs seis шесть 六", "seven sieben siete sept семь 七", "eight acht ocho huit восемь 八", "nine neun nueve neuf девять 九", "ten zehn diez dix десять 十",
		"eleven elf once onze 十一", "twelve zwölf doce douze 十二")
	for w, means := range all {
		if len(w) > 3 && means[0].kind == month && w[len(w)-1] != 's' && all[w+"s"] == nil {
			all[w+"s"] = means // des Oktobers
		}
	}
	return all
}

// readFeasts names the feasts. Russian has none of Easter and Christmas: there they are other days.
func readFeasts(name func(k kind, first int, list ...string)) {
	one := func(day int, words string) { name(feast, 10*day+1, words) }
	one(fromEaster-48, "rosenmontag")
	one(fromEaster-47, "shrove_tuesday pancake_tuesday mardi_gras faschingsdienstag")
	one(fromEaster-46, "ash_wednesday aschermittwoch mercredi_cendres miércoles_ceniza")
	one(fromEaster-7, "palm_sunday palmsonntag dimanche_rameaux domingo_ramos")
	one(fromEaster-3, "maundy_thursday holy_thursday gründonnerstag jeudi_saint jueves_santo")
	one(fromEaster-2, "good_friday karfreitag vendredi_saint viernes_santo")
	one(fromEaster-1, "holy_saturday easter_saturday karsamstag samedi_saint sábado_santo")
	one(fromEaster, "easter_sunday easter_day ostersonntag dimanche_pâques domingo_pascua domingo_resurrección")
	one(fromEaster+1, "easter_monday ostermontag lundi_pâques lunes_pascua")
	one(fromEaster+39, "ascension_day christi_himmelfahrt")
	one(fromEaster+49, "whit_sunday pfingstsonntag dimanche_pentecôte domingo_pentecostés")
	one(fromEaster+50, "whit_monday pfingstmontag lundi_pentecôte lunes_pentecostés")
	one(fromThanksgiving+1, "black_friday")
	one(fromThanksgiving+4, "cyber_monday")
	one(1224, "christmas_eve heiligabend heiligen_abend veille_noël nochebuena 平安夜")
	one(1225, "christmas_day jour_noël día_navidad ersten_weihnachtstag erster_weihnachtstag")
	one(1226, "boxing_day zweiten_weihnachtstag zweiter_weihnachtstag")
	one(1231, "new_year_eve silvesterabend nochevieja 跨年夜")
	one(101, "new_year_day jour_an neujahr neujahrstag 元旦")
	name(feast, 10*(fromEaster-7)+7, "holy_week karwoche semaine_sainte semana_santa")
	name(feast, 10*(fromEaster-2)+4, "ostern 复活节")
	name(feast, 10*(fromEaster+49)+2, "pfingsten")
	name(feast, 10*1224+3, "weihnachten 圣诞节 圣诞")
	name(holiday, 10*(fromEaster-2)+4, "easter pâques pascua")
	name(holiday, 10*1224+3, "christmas noël navidad")
	name(holiday, 10*1231+1, "silvester")
	name(holiday, 10*101+1, "new_year nouvel_an año_nuevo новый_год нового_года новым_годом")
}
