package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/simd"
)

// versionInfo is the JSON of "griffin version".
type versionInfo struct {
	Version   string   `json:"version"`
	Revision  string   `json:"revision,omitempty"`
	Modified  bool     `json:"modified,omitempty"`
	Go        string   `json:"go"`
	Platform  string   `json:"platform"`
	SIMD      string   `json:"simd"`
	Codecs    []string `json:"codecs"`
	Analyzers []string `json:"analyzers"`
}

const versionIndent = "          "

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the version, vector instructions, codecs and analyzers",
		Example: "  griffin version --json",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.version() },
	}
}

func (a *app) version() error {
	v := versionInfo{
		Version: griffin.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		SIMD: simd.Current().String(), Codecs: codec.Names(), Analyzers: analysis.Names(),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Revision = s.Value
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
	}
	if a.json {
		return a.printJSON(v)
	}
	a.printf("griffin %s (%s, %s)\n", v.Version, v.Go, v.Platform)
	if v.Revision != "" {
		a.printf("revision  %s\n", v.Revision)
	}
	a.printf("simd      %s (%s=none or avx2 lowers it)\n", v.SIMD, simd.Variable)
	a.printf("codecs    %s\n", joinWrapped(v.Codecs, versionIndent))
	a.printf("analyzers %s\n", joinWrapped(v.Analyzers, versionIndent))
	return nil
}
