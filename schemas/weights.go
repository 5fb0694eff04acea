package schemas

// DefaultTrust is the trust of an item whose writer says nothing of it.
const DefaultTrust = .5
