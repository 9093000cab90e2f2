package pipeline

import (
	"math/bits"

	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
)

// laneParts collects the Parts of a query in a segment.
type laneParts struct {
	excluded []imagesearch.Term
	asked    uint32                 // clauses, a bit each
	clauses  [MaxClauses + 1]uint32 // their terms in the segment; 0 has the optional ones
	several  []uint32
}

func (p *laneParts) reset() {
	p.excluded, p.asked, p.clauses, p.several = p.excluded[:0], 0, [MaxClauses + 1]uint32{}, p.several[:0]
}

// lack notes that the segment has no document with a term.
func (p *laneParts) lack(part Part) {
	if part != Excluded {
		p.asked |= 1 << part
	}
}

// have notes a term with documents, not an excluded one. place is among these terms.
func (p *laneParts) have(part Part, place int) {
	p.asked |= 1 << part
	p.clauses[part] |= 1 << min(place, MaxClauseTerms-1) // more are refused
}

// of returns the parts, valid until the next reset. It is not ok if a clause has no document.
func (p *laneParts) of() (parts imagesearch.Parts, ok bool) {
	parts.Excluded = p.excluded
	for left := p.asked &^ 1; left != 0; left &= left - 1 {
		terms := p.clauses[bits.TrailingZeros32(left)]
		switch bits.OnesCount32(terms) {
		case 0:
			return parts, false
		case 1:
			parts.Required |= terms
		default:
			p.several = append(p.several, terms)
		}
	}
	parts.Clauses = p.several
	return parts, true
}
