package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// linkData makes a copy of a server's folder. The files of segments, which are written once, are links to the
// originals, so the copy takes no time and no room; others are copied.
func linkData(to, from string) error {
	return filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case e.IsDir():
			return os.MkdirAll(target, 0o700)
		case strings.HasPrefix(filepath.Base(filepath.Dir(name)), "seg-"):
			return os.Link(name, target)
		}
		return copyFile(target, name)
	})
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}
