// Package cost predicts how long parts of query processing take on a machine,
// so that each can run where it ends first.
//
// For each Kind of work, a Model has a linear model with non-negative
// coefficients over quantities that determine the time (launches, postings,
// blocks, bytes over the bus), fitted to measurements on the machine
// (Model.Calibrate). A correction for each class of size follows observations
// (Model.Observe). Model.Doubt quantifies the scatter of times around
// predictions. For whole queries it may also have model trees (Train) over the
// features of Ding et al. A Model belongs to one machine; a file stores the
// models of several (Load, Save).
//
// It does not make decisions: its callers do, considering queues, deadlines and
// batches. It does not know indexes, queries or devices.
//
// A Model is safe for concurrent use; Predict takes no lock.
package cost
