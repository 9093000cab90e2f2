// Package shareddata gives tests and benchmarks access to collections that are too large,
// or not free enough, for the repository: Wikipedia passages, the small judged collections,
// the query logs, and a CIFF file written by other software.
//
// They are in the folder ../shared/data next to the repository's root, described by its
// README.md. Without that folder, as in an external checkout, the tests that need it are
// skipped with a message. If CI=true they fail instead, so that a wrong mount does not
// count as a pass.
//
// Only tests import it. Safe for concurrent use.
package shareddata
