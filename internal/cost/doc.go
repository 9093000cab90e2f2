// Package cost predicts how long parts of query processing take on a machine.
//
// For each Kind of work, a Model has a linear model with non-negative
// coefficients over quantities such as launches, postings, blocks and bytes
// over the bus, fitted to measurements on the machine (Model.Calibrate). A
// correction for each class of size follows observations (Model.Observe).
// Model.Doubt quantifies the scatter around predictions. Whole queries may also
// have model trees (Train) over the features of Ding et al. A file stores the
// models of several machines (Load, Save).
//
// Callers decide where work runs, considering queues, deadlines and batches.
// The package does not know indexes, queries or devices.
//
// A Model is safe for concurrent use; Predict takes no lock.
package cost
