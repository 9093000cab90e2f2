package residency

import (
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Loan is memory of a device, within its limit for lists, for other data than lists, until Return.
type Loan struct {
	d      *Device
	e      *Entry
	memory cuda.Buffer[byte]
}

// lentList is the list of all loans, which have no record.
const lentList = base.ListID(0)

// Borrow returns contiguous memory, and evicts lists for it if necessary. It asks for most bytes, and halves the
// request until it succeeds. It returns ErrNoRoom if lists that are in use leave less than least bytes.
func Borrow(d *Device, least, most int64) (Loan, error) {
	for size := roundUp(most); size >= least && size > 0; size /= 2 {
		e := d.cache.acquire(listKey{kind: kindLent, list: lentList}, term{}, size, 1, lentGain, always)
		if e != nil {
			return Loan{d, e, d.memory(e.extent).Bytes()}, nil
		}
	}
	return Loan{}, ErrNoRoom
}

// lentGain makes a loan worth more than any list.
const lentGain = 1e18

// Memory returns the memory, aligned to 256 bytes.
func (l *Loan) Memory() cuda.Buffer[byte] { return l.memory }

// Return ends the loan, after all work on the memory. It may be repeated.
func (l *Loan) Return() {
	if l.e != nil {
		l.d.cache.abandon(l.e)
		*l = Loan{}
	}
}
