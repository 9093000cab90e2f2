// Package vfs is the file system interface of an index: create and sync files,
// map them for reading, rename and remove them, lock folders.
//
// OS is the operating system's file system. All writes of an index go through
// an FS, so tests can inject a fault into each (package vfstest). The interface
// has no seeking, appending or permissions. An FS is safe for concurrent use;
// of a File only ReadAt is.
package vfs
