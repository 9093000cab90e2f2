// Package shareddata gives tests and benchmarks the collections that are too
// large, or not free enough, to lie in the repository: Wikipedia passages, the
// small judged collections, the query logs, a CIFF file by others.
//
// They lie in the folder ../shared/data beside the repository's root, described
// by its README.md. Where that folder is absent, as in a checkout by an outside
// user, the tests that need it are skipped with a line that says so; where CI
// is set to true they fail instead, so that a wrong mount is not taken for a pass.
//
// Imported by tests only. Safe for concurrent use.
package shareddata
