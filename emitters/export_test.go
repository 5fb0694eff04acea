package emitters

// Again is what Forget asks with.
var Again = again[int]
