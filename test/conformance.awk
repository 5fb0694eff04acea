# Turns the output of "go test -v" over conformance suites into a table: driver, subtest,
# PASS, FAIL or SKIP. It fails unless everything ran and passed.
/^ *--- (PASS|FAIL|SKIP): [^ ]*[\/]/ {
	name = $3
	sub(/^Test[A-Za-z]*[\/]/, "", name)
	rows[++n] = name " " substr($2, 1, 4)
}
/^(ok|FAIL)[ \t]+satchel/ {
	driver = $2
	sub(/^satchel[\/]/, "", driver)
	for (i = 1; i <= n; i++) {
		print driver, rows[i]
		count[substr(rows[i], length(rows[i]) - 3)]++
	}
	n = 0
}
END {
	printf "%d passed, %d failed, %d skipped\n", count["PASS"], count["FAIL"], count["SKIP"]
	exit count["FAIL"] + count["SKIP"] > 0 || count["PASS"] == 0
}
