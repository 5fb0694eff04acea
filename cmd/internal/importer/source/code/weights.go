package code

// testImportance is that of items of tests. It is below the default of 0.5: a question about how something works wants
// the code itself before what checks it.
const testImportance = 0.3
