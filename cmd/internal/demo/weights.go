package demo

// The shares that the demo's figures are held to.
const (
	relevanceTarget = 0.85
	answersTarget   = 0.85
	citationsTarget = 0.90
	dropsTarget     = 0.95
)
