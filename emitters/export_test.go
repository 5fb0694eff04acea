package emitters

// Again is what Forget asks with.
var Again = retryTimeouts[int]
