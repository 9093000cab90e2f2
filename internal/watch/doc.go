// Package watch keeps an index in step with folders: added, changed and removed files become
// additions, replacements and deletions. A file can have many documents (JSON Lines, CSV, …).
//
//	events, scans ──▶ pending files ──quiet──▶ pass: read ──▶ journal ──▶ Target.Apply ──▶ journal
//	(fsnotify)                                 (corpus)      (intent)    (durable)        (done)
//
// It is not for reading documents (package corpus), and not for writing an index: a Target does.
//
// # State
//
// The state knows which document came from which file. It is a log of changes (package wal) in a folder
// of its own. Ids are in the log before their documents are written, and a file is done in the log after
// its documents are durable in the index, and those that it has no longer are deleted. So a crash
// leaves files that are read again, but no document whose file is not known, and no claim that the
// index does not fulfil.
//
// A file with the size and times of the state has not changed; other files are read again. A
// document that has the hash of the one in the index is not written again.
//
// If files have documents of the same id, the index has the one of the last file in the order of
// griffin index. If that is removed, the last of the others is read again.
//
// # Changes
//
// Events of the system give a place to look at, and never count as changes. Scans of all folders find what
// events do not report, also after lost events: periodically, or, with Options.Poll, only they do. What
// cannot be read stays in the index as it is, and is read at its next change. So do the files of a
// folder that
// seems not to be mounted: it has none, or it is on another device, which the state remembers.
//
// # Concurrency
//
// A Watcher runs in the goroutine that calls Run; another goroutine collects events.
package watch
