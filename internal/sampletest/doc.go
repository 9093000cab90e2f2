// Package sampletest lets slow test matrices run a random sample of their cases by
// default and all of them in make test-all.
//
// Some draws the sample and logs its seed; GRIFFIN_SEED repeats it and
// GRIFFIN_TEST_ALL=1 runs every case. SkipRace and UnderRace leave out or shorten, under the
// race detector, work on one goroutine. Histories returns the seeds of random histories, which make histories splits over
// processes. The package is for tests only. Its functions are safe for
// concurrent use.
package sampletest
