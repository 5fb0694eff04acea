function __satchel_words
	set -l before (commandline -opc)
	set -l found ($before[1] completion words -- $before[2..-1] (commandline -ct) 2>/dev/null)
	if count $found >/dev/null
		printf '%s\n' $found
	else
		__fish_complete_path (commandline -ct)
	end
end
complete -c satchel -f -a '(__satchel_words)'
