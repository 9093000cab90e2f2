// Package vfs is the small part of a file system that an index needs: create
// and sync files once, map them for reading, rename and remove, lock a folder.
//
// OS is the operating system's. The interface exists so that tests can inject
// faults (package vfstest): every write of an index goes through an FS, so
// that each of its operations can be made to fail.
//
// It is not a general file abstraction: there is no seeking, no appending to
// an existing file, no permissions. An FS is safe for concurrent use; a File
// is for one goroutine, except for ReadAt.
package vfs
