// Package saat is the engine saat: score-at-a-time search on CPUs.
//
// The source is Mackenzie, Trotman and Lin, "Wacky weights in learned sparse representations and the
// revenge of score-at-a-time query evaluation"; shared/papers has the text. Lists are impact-ordered
// and coded with QMX. A query reads segments of equal impact in falling order, adds them to
// accumulators, and keeps the best k in a heap. Each query runs on one thread. Package
// internal/saat has the algorithms, which the default engine also offers as mode saat.
//
// An Engine is safe for concurrent use.
package saat
