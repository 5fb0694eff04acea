package app

// Finding is one line of the doctor.
type Finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Idle   bool   `json:"idle,omitempty"` // only a running Satchel could tell, and none runs
	Detail string `json:"detail"`
}

// Mark is OK, NO or what else is before a finding.
func (f *Finding) Mark() string {
	switch {
	case !f.OK:
		return "NO"
	case f.Idle:
		return "-"
	}
	return "ok"
}
