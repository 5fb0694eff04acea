package worker

// KeptTenants is for tests of what is put away.
const KeptTenants = keptTenants
