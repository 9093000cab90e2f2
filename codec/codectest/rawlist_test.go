package codectest_test

import (
	"testing"

	"github.com/griffin-search/griffin/codec/codectest"
)

func TestRawList(t *testing.T) { codectest.RunList(t, codectest.RawList{}) }
func FuzzRawList(f *testing.F) { codectest.FuzzDecodeList(f, codectest.RawList{}) }
