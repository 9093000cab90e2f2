// Package vfs is an index's file system interface: create and sync files, map them, rename and
// remove them, lock folders.
//
// OS is the operating system's; tests inject faults (package vfstest). There is no seeking,
// appending or permissions. An FS is safe for concurrent use; of a File only ReadAt is.
package vfs
