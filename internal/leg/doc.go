// Package leg defines the leg of a query: one term's list in a segment with its weight. Plans, CPU
// traversals and GPU code share this type. Types of traverse and of gpu/residency embed a Leg and
// add data for one processor, such as bounds for other parameters or a list's location on a GPU.
//
// A Leg is a plain value and may be copied. It is safe for concurrent use while it does not change.
package leg
