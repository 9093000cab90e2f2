// Package backup copies commits of an index into a folder of snapshots, and back.
//
// A Store is such a folder. Snapshots share the files that did not change between commits: a segment
// whose checksum the Store has is not copied again.
//
//	STORE/
//	├── LOCK                        held by Create; its presence marks a Store
//	├── NAME.snapshot               describes a snapshot; written last
//	├── INDEX-ID/
//	│   ├── seg-000001-1c2b3a49/    a segment and the checksum of its metadata
//	│   ├── seg-000001.live-000002-5a6b7c8d
//	│   └── impacts-000002-9e0f1a2b
//	└── tmp/                        copies that are not complete
//
// Every file of a copy is read back and its checksums are verified, when a snapshot is made and when
// it is restored. A copy that is not complete is in tmp and is never read.
//
// It is not for the write-ahead log: writes that no commit has are not in a snapshot.
//
// # Description, version 1
//
//	griffin-snapshot 1 crc32c 1c2b3a49\n
//	{ JSON }
//
// The checksum covers the JSON, which has the manifest of the commit byte by byte, and the place and
// size of each file. It also has the settings of an index of a server, which are not in the files.
//
// # Concurrency
//
// A Store is safe for concurrent use, by several processes too. Create returns base.ErrLocked while
// another Create runs. Writers of the index go on: Create opens all files before it copies them, and
// begins again if a newer commit removed one meanwhile.
package backup
