package relevance

import (
	"strings"
	"unicode"

	"satchel/pipeline/pii"
)

// mostWords is how many words a greeting, thanks or farewell may have, and longest how many a phrase of it has.
const (
	mostWords = 12
	longest   = 5
)

// Greets reports whether a text is a greeting, thanks or farewell and nothing more. A name, pleasantries and how
// somebody is may stand with it. Any other word is a task.
func Greets(text string) bool { return begins(text, isGreeting) }

// AsksNothing reports whether a text greets, or says yes or no and nothing more.
func AsksNothing(text string) bool {
	return begins(text, func(phrase string) bool { return isGreeting(phrase) || isAnswer(phrase) })
}

// begins reports whether a text is such a phrase, or more of them, and what may stand with a greeting.
func begins(text string, with func(phrase string) bool) bool {
	words := strings.FieldsFunc(text, isSign)
	if len(words) == 0 || len(words) > mostWords {
		return false
	}
	small := make([]string, len(words))
	for i, w := range words {
		small[i] = strings.ReplaceAll(strings.ToLower(w), "’", "'")
	}
	at := phraseAt(small, with)
	if at == 0 {
		return false
	}
	for at < len(words) {
		n := phraseAt(small[at:], func(phrase string) bool { return isPleasantry(phrase) || with(phrase) })
		if n == 0 {
			n = pii.NameWords(words[at:])
		}
		if n == 0 {
			return false
		}
		at += n
	}
	return true
}

// AfterGreeting returns what is asked after a greeting, a yes or a no that a sign sets off. Where there is none, or so few words follow
// that they may belong to it, it returns the text.
func AfterGreeting(text string) string {
	const signs, fewest = ".!?,;:\n…—–。！？，、", 3
	if AsksNothing(text) {
		return text
	}
	for from := 0; ; {
		n := strings.IndexAny(text[from:], signs)
		if n < 0 || !AsksNothing(text[:from+n]) {
			return text[from:]
		}
		rest := strings.TrimLeft(text[from+n:], signs+" \t")
		if len(strings.FieldsFunc(rest, isSign)) < fewest {
			return text[from:]
		}
		from = len(text) - len(rest)
	}
}

func isSign(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && r != '\'' && r != '’'
}

// phraseAt returns how many of the first words are a phrase, as many as there may be; 0 for none.
func phraseAt(words []string, is func(phrase string) bool) int {
	for n := min(longest, len(words)); n > 0; n-- {
		if is(strings.Join(words[:n], " ")) {
			return n
		}
	}
	return 0
}

// isGreeting reports whether a phrase greets, thanks or says farewell.
func isGreeting(phrase string) bool {
	switch phrase {
	case "hi", "hiya", "hey", "hello", "howdy", "greetings", "yo", "good morning", "good afternoon", "good evening", "good night", "good day", "morning",
		"thanks", "thank you", "thx", "cheers", "many thanks", "bye", "bye bye", "goodbye", "good bye", "see you", "see you later", "see you soon", "take care":
	case "hallo", "moin", "moin moin", "servus", "grüezi", "grüß dich", "grüß euch", "grüß gott", "gruß dich", "grüss dich", "grüss gott", "guten morgen", "guten tag",
		"guten abend", "gute nacht", "danke", "danke schön", "danke dir", "danke ihnen", "vielen dank", "besten dank", "herzlichen dank", "tschüss", "tschüß", "tschau",
		"auf wiedersehen", "bis bald", "bis später", "bis morgen":
	case "bonjour", "bonsoir", "bonne journée", "bonne soirée", "bonne nuit", "salut", "coucou", "merci", "merci beaucoup", "merci bien", "merci à toi", "merci à vous",
		"mille mercis", "au revoir", "à bientôt", "à demain", "à plus", "à plus tard":
	case "hola", "buenos días", "buenos dias", "buenas", "buenas tardes", "buenas noches", "gracias", "muchas gracias", "mil gracias", "muchísimas gracias", "adiós",
		"adios", "hasta luego", "hasta pronto", "hasta mañana", "nos vemos":
	case "ciao", "salve", "buongiorno", "buon giorno", "buonasera", "buona sera", "buonanotte", "buona notte", "buona giornata", "grazie", "grazie mille", "grazie tante",
		"mille grazie", "tante grazie", "molte grazie", "arrivederci", "a presto", "a domani":
	case "olá", "ola", "oi", "bom dia", "boa tarde", "boa noite", "obrigado", "obrigada", "muito obrigado", "muito obrigada", "tchau", "até logo", "até já", "até amanhã":
	case "hoi", "goedemorgen", "goedemiddag", "goedenavond", "goedendag", "goede morgen", "goede avond", "dag", "dank je", "dank je wel", "dank u", "dank u wel", "dankjewel",
		"bedankt", "hartelijk dank", "tot ziens", "tot straks", "doei":
	case "cześć", "czesc", "hej", "dzień dobry", "dobry wieczór", "dobranoc", "dziękuję", "dzięki", "dziękuję bardzo", "do widzenia", "na razie":
	case "привет", "приветик", "здравствуй", "здравствуйте", "доброе утро", "добрый день", "добрый вечер", "доброй ночи", "спокойной ночи", "спасибо", "спасибо большое",
		"большое спасибо", "благодарю", "пока", "до свидания", "до встречи", "до завтра":
	case "你好", "您好", "大家好", "你们好", "嗨", "哈喽", "早", "早安", "早上好", "下午好", "晚上好", "晚安", "谢谢", "谢谢你", "谢谢您", "多谢", "非常感谢", "謝謝", "謝謝你", "再见", "再見", "拜拜", "回头见", "明天见":
	case "こんにちは", "こんばんは", "おはよう", "おはようございます", "おやすみ", "おやすみなさい", "もしもし", "やあ", "はじめまして", "ありがとう", "ありがとうございます", "どうもありがとう",
		"どうもありがとうございます", "どうも", "さようなら", "またね", "じゃあね", "また明日":
	case "안녕", "안녕하세요", "안녕하십니까", "감사합니다", "고마워", "고맙습니다", "안녕히 가세요", "안녕히 계세요":
	case "merhaba", "selam", "günaydın", "iyi günler", "iyi akşamlar", "iyi geceler", "teşekkürler", "teşekkür ederim", "çok teşekkürler", "sağ ol", "güle güle", "hoşça kal":
	case "مرحبا", "أهلا", "اهلا", "أهلا وسهلا", "السلام عليكم", "صباح الخير", "مساء الخير", "شكرا", "شكرا جزيلا", "مع السلامة", "नमस्ते", "नमस्कार", "धन्यवाद", "शुक्रिया":
	default:
		return false
	}
	return true
}

// isAnswer reports whether a phrase says yes or no.
func isAnswer(phrase string) bool {
	switch phrase {
	case "ok", "okay", "yes", "yes please", "yeah", "yep", "yup", "sure", "alright", "all right", "got it", "understood", "agreed", "no", "nope", "ja", "ja bitte", "jawohl",
		"verstanden", "einverstanden", "nein", "nee", "oui", "d'accord", "entendu", "compris", "non", "sí", "de acuerdo", "entendido", "sì", "va bene", "capito", "sim", "tá bom",
		"está bem", "entendi", "begrepen", "akkoord", "dobrze", "да", "хорошо", "ладно", "понятно", "нет", "好的", "是的", "可以", "明白", "明白了", "はい", "わかりました", "了解",
		"いいえ", "네", "알겠습니다", "아니요", "evet", "tamam", "hayır", "نعم", "حسنا", "हाँ", "ठीक है", "नहीं":
		return true
	}
	return false
}

// isPleasantry reports whether a phrase says to whom or how warmly somebody greets, or asks how somebody is.
func isPleasantry(phrase string) bool {
	switch phrase {
	case "there", "all", "again", "everyone", "everybody", "folks", "guys", "team", "friend", "friends", "mate", "buddy", "dear", "to you", "to you too", "you too", "too",
		"and", "so much", "very much", "so very much", "a lot", "a million", "a bunch", "for your help", "for the help", "for all your help", "for everything", "for now",
		"how are you", "how are you doing", "how are you today", "how are you doing today", "how's it going", "how is it going", "how do you do", "how have you been",
		"what's up", "nice to meet you", "have a nice day", "have a great day", "have a good one", "have a good day":
	case "zusammen", "alle", "allerseits", "ihr lieben", "sehr", "nochmal", "für deine hilfe", "für die hilfe", "für ihre hilfe", "für alles", "und", "wie geht's", "wie gehts",
		"wie geht es dir", "wie geht es ihnen", "wie geht's dir", "alles gut", "alles klar", "schönen tag", "schönen tag noch":
	case "à tous", "tout le monde", "pour tout", "pour votre aide", "pour ton aide", "et", "ça va", "comment ça va", "comment vas tu", "comment allez vous":
	case "a todos", "a todas", "por todo", "por tu ayuda", "por su ayuda", "y", "qué tal", "que tal", "cómo estás", "como estas", "cómo está", "cómo está usted":
	case "a tutti", "di tutto", "per tutto", "per l'aiuto", "come stai", "come va", "come sta", "a todos vocês", "tudo bem", "como vai", "como está", "por tudo", "pela ajuda":
	case "allemaal", "hoe gaat het", "hoe gaat het met je", "voor je hulp", "wszystkim", "jak się masz", "co słychać", "za pomoc", "всем", "как дела", "как ты", "как вы", "за помощь":
	case "你好吗", "您好吗", "最近怎么样", "お元気ですか", "元気ですか", "元気", "잘 지내세요", "nasılsın", "nasılsınız", "كيف حالك", "आप कैसे हैं":
	default:
		return false
	}
	return true
}
