// Package saat is the engine saat: score-at-a-time search on CPUs.
//
// The source is Trotman and Crane, "Micro and macro optimization of SaaT search", Software: Practice
// and Experience, 2018. Lists are impact-ordered
// and coded with QMX. A query reads segments of equal impact in falling order, adds them to
// accumulators, and keeps the best k in a heap. Each query runs on one thread. Package
// internal/saat has the algorithms, which the default engine also offers as mode saat.
//
// An Engine is safe for concurrent use.
package saat
