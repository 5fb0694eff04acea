# Turns the output of "go test -v" over conformance suites into a table: driver, subtest,
# PASS, FAIL or SKIP, and at the end what became of each driver. It fails unless everything
# ran and passed. A test that only groups others is no row.
/^ *--- (PASS|FAIL|SKIP): [^ ]*[\/]/ {
	name = $3
	sub(/^Test(Conformance|Suite)[\/]/, "", name) # a package with several drivers names each: TestItemsConformance
	sub(/^Test/, "", name)
	rows[++n] = name " " substr($2, 1, 4)
}
/stand-in_for_Qdrant/ { standin = 1 }
/^FAIL[ \t]+satchel/ { broken++ } # also what does not build
/^(ok|FAIL)[ \t]+satchel/ {
	driver = $2
	sub(/^satchel[\/]/, "", driver)
	for (i = 1; i <= n; i++) {
		name = substr(rows[i], 1, length(rows[i]) - 5)
		result = substr(rows[i], length(rows[i]) - 3)
		for (j = 1; j <= n; j++)
			if (index(rows[j], name "/") == 1) result = ""
		if (result == "") continue
		print driver, rows[i]
		count[result]++
		ran[driver]++
		bad[driver] += result != "PASS"
	}
	if (n > 0) drivers[++d] = driver
	n = 0
}
END {
	print ""
	for (i = 1; i <= d; i++)
		printf "%-36s %4d subtests, %d passed\n", drivers[i], ran[drivers[i]], ran[drivers[i]] - bad[drivers[i]]
	if (standin) print "Qdrant itself was NOT run: the driver ran on a stand-in; set QDRANT_URL for the real one"
	printf "%d passed, %d failed, %d skipped\n", count["PASS"], count["FAIL"], count["SKIP"]
	if (broken) print broken " packages failed"
	exit broken + count["FAIL"] + count["SKIP"] > 0 || count["PASS"] == 0
}
