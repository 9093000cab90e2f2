// Package plantest makes random indexes and queries for tests of planning and execution. Its
// functions end the test on an error.
package plantest
