package jetstream

import (
	"strings"

	"satchel/schemas"
)

// ownerMark is the name in an object's metadata under which the principal stands that it counts
// against.
const ownerMark = "satchel.owner"

// usage is how many bytes of a bucket are taken: of all, by one tenant, and by one principal of
// it.
type usage struct{ all, tenant, owner int64 }

// usageOf sums what a bucket holds for a tenant and its principal. A name begins with the tenant.
func usageOf(objects []object, tenant, owner string) (u usage) {
	for _, o := range objects {
		u.all += o.size
		if !strings.HasPrefix(o.name, tenant+"/") {
			continue
		}
		u.tenant += o.size
		if o.owner == owner {
			u.owner += o.size
		}
	}
	return u
}

// computeRoom is how many bytes more the principal may store of a bucket of total bytes. It may have as
// much as is free then, and its tenant seven times that, so that however much some store there
// is room for another.
func (u usage) computeRoom(total int64) int64 {
	free := total - u.all
	return max(0, min((free-u.owner)/2, (7*free-u.tenant)/8))
}

// overQuota refuses what a principal has no room for.
func overQuota(what string, after int) error {
	return &schemas.Error{Code: schemas.CodeOverloaded, RetryAfter: max(1, after),
		Message: what + " of this principal or tenant take as much room as they may"}
}
