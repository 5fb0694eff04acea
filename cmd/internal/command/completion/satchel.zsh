#compdef satchel
_satchel() {
	local -a shown
	local word help
	while IFS=$'\t' read -r word help; do
		shown+=("${word//:/\\:}${help:+:$help}")
	done < <("${words[1]}" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)
	if (( $#shown )); then _describe satchel shown; else _files; fi
}
if [ "$funcstack[1]" = _satchel ]; then _satchel; else compdef _satchel satchel; fi
