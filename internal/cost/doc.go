// Package cost predicts how long pieces of query processing take on a machine, so that
// each can be put where it ends first.
//
// A Model has, for each Kind of work, a linear model with non-negative coefficients over
// quantities that the time is made of (launches, postings, blocks, bytes over the bus),
// fitted to samples that were measured on the machine (Model.Calibrate), and a correction
// for each class of size that follows what is observed (Model.Observe). Model.Doubt tells by
// how much times scatter about what it predicts. For whole queries
// it may have model trees, too (Train), over the features of Ding et al. A Model is of
// one machine, and kept in a file with those of others (Load, Save).
//
// It is not for deciding: that takes queues, deadlines and batches into account and is
// done by its callers. It knows no index, no query and no device.
//
// A Model is safe for concurrent use; Predict takes no lock.
package cost
