// Package leg defines the leg of a query: one term's list in a segment with its weight. Types of
// traverse and of gpu/residency embed a Leg and add data for one processor.
//
// A Leg is a plain value and may be copied. It is safe for concurrent use while it does not change.
package leg
