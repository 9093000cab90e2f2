//go:build !linux

package staging

import "os"

// Between the steps there is no folder at b; if the process ends there, the old one is left at
// a+".old".
func exchangeFolders(a, b string) error {
	old := a + ".old"
	if err := os.Rename(b, old); err != nil {
		return err
	}
	if err := os.Rename(a, b); err != nil {
		return err
	}
	return os.Rename(old, a)
}
